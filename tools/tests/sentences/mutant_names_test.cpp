// The names that failures of the planted errors get, beside those that are true
// (mutant_names.csv: the beginning of a kernel's name, and words of a true name).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/tests/shell.h"

namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

Names true_names() {
  std::istringstream file(slurp(ROPEWALK_MUTANT_NAMES));
  Names names;
  for (std::string line; std::getline(file, line);) {
    const std::size_t comma = line.find(',');
    if (comma != std::string::npos)
      names.emplace_back(line.substr(0, comma), line.substr(comma + 1));
  }
  return names;
}

// By the first letters of the mutants' names, since all at once take minutes.
class MutantNames : public testing::TestWithParam<const char*> {};

TEST_P(MutantNames, NoneIsWrong) {
  const Names names = true_names();
  const Result r =
      ropewalk(std::string("verify --json --jobs 2 --profile smoke --plugin ") + ROPEWALK_MUTANTS +
               " --kernel 'mutant_[" + GetParam() + "]*' --property agreement");
  std::istringstream rows(r.out);
  int failures = 0, named = 0;
  for (std::string line; std::getline(rows, line);) {
    const std::string kernel = field(line, "kernel"), cause = field(line, "cause");
    if (field(line, "row") != "verdict" || field(line, "verdict") != "FAIL") continue;
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
  EXPECT_GT(failures, 0);
  EXPECT_GE(named, failures / 3);
}

std::string letters_of(const testing::TestParamInfo<const char*>& info) {
  const std::string letters = info.param;
  return letters.substr(0, 1) + letters.back();
}
INSTANTIATE_TEST_SUITE_P(All, MutantNames,
                         testing::Values("a-b", "c-d", "e-g", "h-k", "l-n", "o-p", "q-r", "s",
                                         "t-z"),
                         letters_of);

}  // namespace
