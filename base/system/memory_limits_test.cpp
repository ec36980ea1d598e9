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
  void in_group(const std::string& own) const { write("proc/self/cgroup", "0::" + own + "\n"); }
  MemoryLeft left() const { return memory_left(SystemFiles(root)); }

  fs::path root;
};

TEST_F(MemoryLimits, WithoutGroupsItIsTheMachines) {
  EXPECT_EQ(left().bytes, 8192 * mib);
  EXPECT_EQ(left().by, "on this machine");
  fs::remove(root / "proc/meminfo");
  EXPECT_EQ(left().bytes, unlimited_memory);
  EXPECT_EQ(memory_refusal(std::int64_t{1} << 50, SystemFiles(root)), "");
}

TEST_F(MemoryLimits, AGroupBelowTheRootCounts) {
  in_group("/user.slice/job");
  group("sys/fs/cgroup/user.slice/job", 200, 50, 20);
  EXPECT_EQ(left().bytes, 170 * mib);
  EXPECT_EQ(left().by, "in a control group of 200 MiB");
  EXPECT_EQ(memory_refusal(150 * mib, SystemFiles(root)),
            "needs 150 MiB of memory, 170 MiB are left in a control group of 200 MiB");
  EXPECT_EQ(memory_refusal(146 * mib, SystemFiles(root)), "");
  EXPECT_EQ(memory_refusal(2 * mib, SystemFiles("/nowhere")), "");
}

TEST_F(MemoryLimits, TheLeastOfAllGroupsOnTheWayUpCounts) {
  in_group("/a/b/c");
  group("sys/fs/cgroup/a/b/c", 900, 10);
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  group("sys/fs/cgroup/a", 500, 420);
  EXPECT_EQ(left().bytes, 80 * mib);
  group("sys/fs/cgroup/a/b/c", 50, 10);
  EXPECT_EQ(left().bytes, 40 * mib);
  group("sys/fs/cgroup/a/b/c", 50, 60);
  EXPECT_EQ(left().bytes, 0) << "more is used than is granted";
}

TEST_F(MemoryLimits, AGroupOutsideOfTheVisibleTreeIsItsRoot) {
  in_group("/../../elsewhere");
  group("sys/fs/cgroup", 250, 50);
  EXPECT_EQ(left().bytes, 200 * mib);
}

TEST_F(MemoryLimits, GarbageAndMissingFilesAreNoLimit) {
  in_group("/a");
  for (const char* text : {"", "max\n", "-5\n", "99999999999999999999999\n", "much\n"}) {
    write("sys/fs/cgroup/a/memory.max", text);
    EXPECT_EQ(left().bytes, 8192 * mib) << text;
  }
  write("sys/fs/cgroup/a/memory.max", "104857600\n");
  EXPECT_EQ(left().bytes, 100 * mib) << "how much is used is not told";
  write("sys/fs/cgroup/a/memory.current", "nothing\n");
  EXPECT_EQ(left().bytes, 100 * mib);
  for (const char* text : {"", "0", "0:", "::", "0::\n::::\n", "4:memory\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(left().bytes, 8192 * mib) << text;
  }
}

TEST_F(MemoryLimits, ResourceLimitsCount) {
  write("proc/self/status", "Name:\tropewalk\nVmSize:\t  102400 kB\n");
  write("proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max data size             unlimited            unlimited            bytes     \n"
        "Max address space         1073741824           unlimited            bytes     \n");
  EXPECT_EQ(left().bytes, 924 * mib);
  EXPECT_EQ(left().by, "under ulimit -v");
  EXPECT_EQ(shared_memory_left(SystemFiles(root)).bytes, 8192 * mib);
}

TEST_F(MemoryLimits, AKillForMemoryIsTold) {
  in_group("/a");
  group("sys/fs/cgroup/a", 200, 150);
  EXPECT_EQ(memory_kills(SystemFiles(root)), -1);
  write("sys/fs/cgroup/a/memory.events", "low 0\noom 3\noom_kill 2\n");
  const std::int64_t before = memory_kills(SystemFiles(root));
  EXPECT_EQ(before, 2);
  EXPECT_EQ(memory_kill_text(before, SystemFiles(root)), "");
  write("sys/fs/cgroup/a/memory.events", "low 0\noom 4\noom_kill 3\n");
  EXPECT_EQ(memory_kill_text(before, SystemFiles(root)),
            "the system killed a process for lack of memory, the limit of its control group is "
            "200 MiB");
}

TEST(MemoryLeftHere, IsSome) {
  EXPECT_GT(memory_left().bytes, 0);
}

}  // namespace
}  // namespace ropewalk
