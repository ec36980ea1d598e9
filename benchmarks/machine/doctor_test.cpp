// Shows the doctor machines that exist only as files. Each check finds its own fault and no other.
#include "benchmarks/machine/doctor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace ropewalk::bench {
namespace {

namespace fs = std::filesystem;

/// A machine without any fault.
class Doctor : public testing::Test {
 protected:
  Doctor() : root_(fs::path(testing::TempDir()) / ("ropewalk_doctor_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    write("proc/stat", "cpu  100 0 100 9800 0 0 0 0 0 0\n");
    write("proc/meminfo", "MemAvailable:    8388608 kB\n");
    write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    machine_.files = SystemFiles(root_);
    machine_.cpu_count = 2;
    machine_.core = {900, 0.02};
    machine_.largest_workload_bytes = std::int64_t{1} << 30;
    machine_.build_type = "Release";
  }
  ~Doctor() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  /// The value of the only check that is not good.
  std::string only(const std::string& name, Health health = Health::worse) {
    std::string value = "nothing found";
    for (const DoctorFinding& f : examine(machine_)) {
      if (f.name == name) value = f.value;
      EXPECT_EQ(f.health, f.name == name ? health : Health::good) << f.name << ": " << f.value;
      EXPECT_EQ(f.remedy.empty(), f.health == Health::good) << f.name;
    }
    return value;
  }

  fs::path root_;
  Machine machine_;
};

TEST_F(Doctor, FindsNothingWhereNothingIsWrong) {
  std::set<std::string> names;
  for (const DoctorFinding& f : examine(machine_)) {
    EXPECT_EQ(f.health, Health::good) << f.name << ": " << f.value;
    EXPECT_FALSE(f.value.empty() || f.why.empty()) << f.name;
    EXPECT_TRUE(f.remedy.empty()) << f.name;
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
  }
  EXPECT_EQ(names.size(), 6u);
}

TEST_F(Doctor, FindsEachFaultAndOnlyIt) {
  struct Fault {
    const char *name, *file, *content, *value;
  };
  const Fault faults[] = {
      {"steal", "proc/stat", "cpu  100 0 100 9750 0 0 0 50 0 0\n", "0.500 % since boot"},
      {"memory", "proc/meminfo", "MemAvailable: 1048576 kB\n",
       "1024 MiB available, 1024 MiB for the largest workload"},
      {"huge_pages", "sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n",
       "never"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.name);
    std::stringstream before;
    before << std::ifstream(root_ / fault.file).rdbuf();
    write(fault.file, fault.content);
    EXPECT_EQ(only(fault.name), fault.value);
    write(fault.file, before.str());
  }
}

TEST_F(Doctor, FindsWhatWasProbed) {
  const Machine good = machine_;
  machine_.core.spread = 0.3;
  EXPECT_EQ(only("core"), "900 ns for independent work, a tenth of it 30 % above the best");
  machine_ = good;
  machine_.load_average = 1.5;
  EXPECT_EQ(only("load"), "1.50 on 2 processors");
  machine_ = good;
  machine_.build_type = "Debug";
  EXPECT_EQ(only("build"), "Debug");
  machine_.build_type = "Release";
  machine_.sanitizer = "address";
  EXPECT_EQ(only("build"), "Release with -fsanitize=address");
}

TEST_F(Doctor, WhatCannotBeReadIsSaid) {
  fs::remove_all(root_);
  int unknown = 0;
  for (const DoctorFinding& f : examine(machine_)) {
    if (f.health != Health::unknown) continue;
    ++unknown;
    EXPECT_EQ(f.value, "not readable") << f.name;
    EXPECT_FALSE(f.remedy.empty()) << f.name;
  }
  EXPECT_EQ(unknown, 3);  // steal, memory, huge_pages
}

TEST_F(Doctor, FilesOfNonsenseDoNoHarm) {
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    if (entry.is_regular_file())
      std::ofstream(entry.path()) << std::string("\xff\0-9999999999999999999,5-\n\n", 25);
  EXPECT_EQ(examine(machine_).size(), 6u);
}

TEST(DoctorProbe, ThisMachineCanBeProbed) {
  const Machine m = probe_machine(1);
  EXPECT_GT(m.core.ns, 0);
  EXPECT_GE(m.core.spread, 0);
  EXPECT_EQ(examine(m).size(), 6u);
}

}  // namespace
}  // namespace ropewalk::bench
