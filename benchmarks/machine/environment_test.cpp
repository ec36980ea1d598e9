#include "benchmarks/machine/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

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
