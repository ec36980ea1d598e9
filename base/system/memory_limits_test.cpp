// Tests with fake trees of control groups, and with missing or garbage files.
#include "base/system/memory_limits.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace ropewalk {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t mib = std::int64_t{1} << 20;

class MemoryLimits : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "ropewalk-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
    write("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
    write("proc/self/cgroup", "0::/a/b\n");
  }
  void TearDown() override { fs::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  // Writes a group: its limit and its use, in MiB.
  void group(const std::string& folder, std::int64_t granted, std::int64_t used,
             std::int64_t cached = 0) const {
    write(folder + "/memory.max", std::to_string(granted * mib) + "\n");
    write(folder + "/memory.current", std::to_string(used * mib) + "\n");
    write(folder + "/memory.stat",
          "anon 1\ninactive_file " + std::to_string(cached * mib) + "\nactive_file 0\n");
  }
  MemoryLeft left() const { return memory_left(SystemFiles(root)); }

  fs::path root;
};

TEST_F(MemoryLimits, TheLeastOfTheMachineAndOfAllGroupsOnTheWayUpCounts) {
  EXPECT_EQ(left().bytes, 8192 * mib);
  EXPECT_EQ(left().by, "on this machine");
  group("sys/fs/cgroup", 4000, 0);
  EXPECT_EQ(left().bytes, 4000 * mib);
  group("sys/fs/cgroup/a", 500, 420, 20);
  EXPECT_EQ(left().bytes, 100 * mib);
  EXPECT_EQ(left().by, "in a control group of 500 MiB");
  group("sys/fs/cgroup/a/b", 50, 10);
  EXPECT_EQ(left().bytes, 40 * mib);
  group("sys/fs/cgroup/a/b", 50, 60);
  EXPECT_EQ(left().bytes, 0) << "more is used than is granted";
}

TEST_F(MemoryLimits, GarbageAndMissingFilesAreNoLimit) {
  for (const char* text : {"", "max\n", "-5\n", "99999999999999999999999\n", "much\n"}) {
    write("sys/fs/cgroup/a/memory.max", text);
    EXPECT_EQ(left().bytes, 8192 * mib) << text;
  }
  write("sys/fs/cgroup/a/memory.max", "104857600\n");
  EXPECT_EQ(left().bytes, 100 * mib) << "how much is used is not told";
  for (const char* text : {"", "0:", "::", "0::/../../elsewhere\n", "4:memory\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(left().bytes, 8192 * mib) << text;
  }
  fs::remove(root / "proc/meminfo");
  EXPECT_EQ(left().bytes, unlimited_memory);
}

TEST_F(MemoryLimits, KillsForMemoryAreCounted) {
  EXPECT_EQ(memory_kills(SystemFiles(root)), -1);
  write("sys/fs/cgroup/a/memory.events", "low 0\noom 3\noom_kill 2\n");
  EXPECT_EQ(memory_kills(SystemFiles(root)), 2);
}

TEST(MemoryRefusal, NamesWhatIsLeft) {
  EXPECT_GT(memory_left().bytes, 0);
  EXPECT_EQ(memory_refusal(2 * mib), "");
  EXPECT_NE(memory_refusal(std::int64_t{1} << 50).find(" MiB are left "), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
