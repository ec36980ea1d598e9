// The planted errors must die, and the names that their failures get must be among those that are
// true (mutant_names.csv: the beginning of a kernel's name, and words of a true name).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/tests/shell.h"

namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

Names true_names() {
  std::istringstream file(slurp(ROPEWALK_SOURCE_DIR "/tools/tests/sentences/mutant_names.csv"));
  Names names;
  for (std::string line; std::getline(file, line);) {
    const std::size_t comma = line.find(',');
    if (comma != std::string::npos)
      names.emplace_back(line.substr(0, comma), line.substr(comma + 1));
  }
  return names;
}

// By the first letters of the mutants' names, since all at once take minutes. Those that properties
// kill by themselves (tools/CMakeLists.txt) are left out.
class Mutants : public testing::TestWithParam<const char*> {};

TEST_P(Mutants, DieAndNoNameIsWrong) {
  const Names names = true_names();
  const std::string mutants = "mutants --quiet --profile smoke --kernel '";
  const Result r = ropewalk(mutants + "mutant_!(" + ROPEWALK_LISTED_MUTANTS + "|[!" + GetParam() +
                            "]*)' --property agreement --json");
  std::istringstream rows(r.out);
  std::map<std::string, bool> killed;
  int failures = 0, named = 0;
  for (std::string line; std::getline(rows, line);) {
    const std::string kernel = field(line, "kernel"), cause = field(line, "cause");
    const std::string verdict = field(line, "verdict");
    killed[kernel] |= verdict == "FAIL" || verdict == "CRASH" || verdict == "HANG";
    if (verdict != "FAIL" || !contains(line, "/ropewalk_mutants.so")) continue;
    ++failures;
    if (cause.empty()) continue;
    ++named;
    EXPECT_TRUE(std::any_of(names.begin(), names.end(),
                            [&](const auto& each) {
                              return kernel.starts_with("mutant_" + each.first) &&
                                     contains(cause, each.second);
                            }))
        << kernel << " is named: " << cause;
  }
  EXPECT_GE(named, failures / 3);
  ASSERT_GT(failures, 0) << r.err;
  // Few are left for the other properties.
  std::string others;
  for (const auto& [kernel, is_killed] : killed)
    if (!is_killed) others += (others.empty() ? "" : "' --kernel '") + kernel;
  if (others.empty()) return;
  const Result last = ropewalk(mutants + others + "' --first-kill");
  EXPECT_EQ(last.code, 0) << last.out << last.err;
}

std::string letters_of(const testing::TestParamInfo<const char*>& info) {
  const std::string letters = info.param;
  return letters.substr(0, 1) + letters.back();
}
INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::Values("a-c", "d-g", "h-o", "p-r", "s-z"),
                         letters_of);

}  // namespace
