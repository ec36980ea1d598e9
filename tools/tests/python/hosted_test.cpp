// The processes in which Python's providers are judged: one that ends its process ends no other,
// and nothing is left.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tools/tests/python/with_numpy.h"

namespace {

namespace fs = std::filesystem;

class Hosted : public WithNumpy {
 protected:
  /// Runs the planted providers, which write the process that they leave into the file LEFT.
  static Result planted_run(const std::string& glob, const std::string& environment = "") {
    fs::remove(left);
    return shell(environment + " LEFT=" + left.string() + " " + ROPEWALK_EXECUTABLE + " verify '" +
                 planted + "bad/hosted.py::" + glob + "' --python " + python_with("numpy"));
  }
  static bool is_there(const fs::path& process_file) {
    return fs::exists("/proc/" + slurp(process_file) + "/stat");
  }
  inline static fs::path left;
  void SetUp() override {
    WithNumpy::SetUp();
    left = scratch() / "left";
  }
};

TEST_F(Hosted, AProviderThatEndsItsProcessEndsNoOther) {
  const Result r = planted_run("*");
  EXPECT_EQ(r.code, 1) << r.err;
  for (const std::string words :
       {" forks\\x1b[2J FAIL ", "forks, and the child returned too", " crashes CRASH",
        "pairs: SIGSEGV", " exits CRASH", " leaves_a_process PASS ",
        "note: leaves_a_process starts a process in ", " right PASS "})
    EXPECT_TRUE(contains(on_one_line(r.out), words)) << words << "\n" << r.out;
  EXPECT_FALSE(is_there(left)) << slurp(left);
  EXPECT_TRUE(contains(planted_run("exits").out, "pairs: exit code 7"));
  EXPECT_FALSE(contains(r.out + r.err, "\x1b[2J"));
  EXPECT_FALSE(fs::exists(fs::temp_directory_path() / "escaped.json"));
}

TEST_F(Hosted, NothingOutlivesAKilledCommand) {
  const Result r = shell("SLEEPS=600 LEFT=" + left.string() + " " + ROPEWALK_EXECUTABLE +
                         " verify '" + planted + "bad/hosted.py::[ls]*' --python " +
                         python_with("numpy") + " >/dev/null 2>&1 & command=$!; rm -f " +
                         left.string() + "; for i in $(seq 300); do test -s " + left.string() +
                         " && break; sleep 0.1; done; sleep 0.3; kill -9 $command; for i in $(seq "
                         "20); do test -e /proc/$(cat " +
                         left.string() + ")/stat || exit 5; sleep 0.1; done");
  EXPECT_EQ(r.code, 5) << slurp(left) << r.err;
}

}  // namespace
