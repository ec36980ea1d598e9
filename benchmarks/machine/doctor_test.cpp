// Shows the doctor machines that exist only as files. Each check finds its own fault and no other.
#include "benchmarks/machine/doctor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "benchmarks/machine/environment.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

namespace fs = std::filesystem;

/// A machine without any fault.
class Doctor : public testing::Test {
 protected:
  Doctor() : root_(fs::path(testing::TempDir()) / ("ropewalk_doctor_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    const std::string cpus = "sys/devices/system/cpu/";
    write(cpus + "cpu0/cpufreq/scaling_governor", "performance\n");
    write(cpus + "intel_pstate/no_turbo", "1\n");
    write(cpus + "cpu0/thermal_throttle/core_throttle_count", "0\n");
    write(cpus + "cpu0/topology/thread_siblings_list", "0,2\n");
    write("proc/stat", "cpu  100 0 100 9800 0 0 0 0 0 0\ncpu0 50 0 50 4900 0 0 0 0 0 0\n");
    write("proc/meminfo", "MemAvailable:    8388608 kB\nSwapTotal: 1024 kB\nSwapFree: 1024 kB\n");
    write("proc/cpuinfo", "flags\t\t: fpu sse2 avx2\n");
    write("sys/fs/cgroup/cpu.max", "max 100000\n");
    write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    write("sys/devices/system/node/online", "0\n");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    machine_.files = SystemFiles(root_);
    machine_.allowed_cpus = {0};
    machine_.cpu_count = 2;
    machine_.cpu_busy = {{0, 0.9}, {2, 0.01}};
    machine_.spin = {1.5, 0.01};
    machine_.core = {900, 0.02};
    machine_.timer = {25, 20};
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
  EXPECT_EQ(names.size(), 18u);
}

TEST_F(Doctor, FindsEachFaultAndOnlyIt) {
  struct Fault {
    const char *name, *file, *content, *value;
  };
  const std::string cpus = "sys/devices/system/cpu/";
  const std::string governor = cpus + "cpu0/cpufreq/scaling_governor",
                    turbo = cpus + "intel_pstate/no_turbo",
                    throttled = cpus + "cpu0/thermal_throttle/core_throttle_count",
                    nodes = "sys/devices/system/node/online";
  const Fault faults[] = {
      {"governor", governor.c_str(), "powersave\n", "powersave"},
      {"turbo", turbo.c_str(), "0\n", "on"},
      {"throttling", throttled.c_str(), "7\n", "7 times since boot"},
      {"steal", "proc/stat", "cpu  100 0 100 9750 0 0 0 50 0 0\n", "0.500 % since boot"},
      {"quota", "sys/fs/cgroup/cpu.max", "150000 100000\n", "150000 100000 us, throttled ? times"},
      {"swap", "proc/meminfo", "MemAvailable: 8388608 kB\nSwapTotal: 4096 kB\nSwapFree: 1024 kB\n",
       "3 of 4 MiB in use"},
      {"memory", "proc/meminfo", "MemAvailable: 1048576 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
       "1024 MiB available, 1024 MiB for the largest workload"},
      {"huge_pages", "sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n",
       "never"},
      {"numa", nodes.c_str(), "0-1\n", "0-1"},
      {"virtualization", "proc/cpuinfo", "flags : fpu hypervisor avx2\n", "hypervisor"},
      {"clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n",
       "hpet"},
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
  machine_.spin.spread = 0.2;
  EXPECT_EQ(only("frequency"), "1.500 ns a step, spread 20.0 %");
  machine_ = good;
  machine_.core.spread = 0.3;
  EXPECT_EQ(only("core"), "900 ns for independent work, a tenth of it 30 % above the best");
  machine_ = good;
  machine_.timer.overhead_ns = 900;
  EXPECT_EQ(only("timer"), "900 ns a reading, resolves 20 ns");
  machine_ = good;
  machine_.load_average = 1.5;
  EXPECT_EQ(only("load"), "1.50 on 2 processors");
  machine_ = good;
  machine_.cpu_busy[2] = 0.8;
  EXPECT_EQ(only("sibling"), "cpu 0 shares a core with cpu 2, which is busy 80 %");
  machine_ = good;
  machine_.build_type = "Debug";
  EXPECT_EQ(only("build"), "Debug");
  machine_.build_type = "Release";
  machine_.sanitizer = "address";
  EXPECT_EQ(only("build"), "Release with -fsanitize=address");
}

TEST_F(Doctor, AProcessThatMayWander) {
  write("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
  machine_.allowed_cpus = {0, 1};
  EXPECT_EQ(only("affinity"), "may move between 2 processors");
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
  EXPECT_EQ(unknown, 12);  // all but those that were probed
}

TEST_F(Doctor, FilesOfNonsenseDoNoHarm) {
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    if (entry.is_regular_file())
      std::ofstream(entry.path()) << std::string("\xff\0-9999999999999999999,5-\n\n", 25);
  write("sys/devices/system/node/online", "0-99999999999,-,4-2");
  EXPECT_EQ(examine(machine_).size(), 18u);
}

TEST(DoctorProbe, ThisMachineCanBeProbed) {
  const Machine m = probe_machine(1);
  EXPECT_GT(m.spin.ns_a_step, 0);
  EXPECT_GE(m.spin.spread, 0);
  EXPECT_GT(m.core.ns_a_step, 0);
  EXPECT_EQ(scalar_after_512_bit().has_value(), missing_cpu_feature("avx512f").empty());
  EXPECT_GT(scalar_after_512_bit().value_or(1), 0);
  EXPECT_GT(m.timer.overhead_ns, 0);
  EXPECT_FALSE(m.allowed_cpus.empty());
  EXPECT_EQ(examine(m).size(), 18u);
}

}  // namespace
}  // namespace ropewalk::bench
