#include "benchmarks/machine/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ropewalk::bench {
namespace {

TEST(Environment, HasNoEmptyValue) {
  const auto words = describe_environment();
  for (const auto& [key, value] : words) EXPECT_NE(value, "") << key;
  EXPECT_NE(words.at("page_size_bytes"), "not readable");
}

TEST(Environment, WithoutProcAndSysTheSameKeysAreNotReadable) {
  const auto here = describe_environment(),
             nowhere = describe_environment(SystemFiles("/no/where"));
  ASSERT_EQ(here.size(), nowhere.size());
  for (const auto& [key, value] : here) EXPECT_EQ(nowhere.count(key), 1u) << key;
  for (const char* key : {"cpu_model", "cpu_caches", "cpu_steal_since_boot", "clocksource",
                          "memory_total", "cpu_frequency_turbo", "virtualization", "system"})
    EXPECT_EQ(nowhere.at(key), "not readable") << key;
  EXPECT_NE(nowhere.at("page_size_bytes"), "not readable");
}

TEST(Environment, TellsWhatTheFilesSay) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / ("environment_" + std::to_string(getpid()));
  const auto words = [&](const char* no_turbo, const char* flags) {
    for (const auto& [file, text] :
         {std::pair("sys/devices/system/cpu/intel_pstate/no_turbo", no_turbo),
          std::pair("proc/cpuinfo", flags),
          std::pair("proc/stat", "cpu  100 0 100 9750 0 0 0 50 0 0\n")}) {
      fs::create_directories((root / file).parent_path());
      std::ofstream(root / file) << text;
    }
    return describe_environment(SystemFiles(root));
  };
  const auto quiet = words("1\n", "flags : fpu avx2\n"),
             guest = words("0\n", "flags : fpu hypervisor\n");
  fs::remove_all(root);
  EXPECT_EQ(quiet.at("cpu_frequency_turbo"), "off");
  EXPECT_EQ(quiet.at("virtualization"), "none seen");
  EXPECT_EQ(quiet.at("cpu_steal_since_boot"), "0.500 %");
  EXPECT_EQ(guest.at("cpu_frequency_turbo"), "on");
  EXPECT_EQ(guest.at("virtualization"), "hypervisor");
}

TEST(Environment, DoesNotNameTheMachine) {
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof(host) - 1), 0);
  const bool telling = std::string(host).size() >= 6;  // shorter host names may be common words
  for (const auto& [key, value] : describe_environment()) {
    EXPECT_NE(value, host) << key;
    EXPECT_TRUE(!telling || value.find(host) == std::string::npos) << key;
  }
}

}  // namespace
}  // namespace ropewalk::bench
