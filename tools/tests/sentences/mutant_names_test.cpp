// The names that failures of the planted errors get, beside those that are true
// (mutant_names.csv: the beginning of a kernel's name, and words of a true name).
#include <gtest/gtest.h>

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

TEST(MutantNames, NoneIsWrongAndEachIsGiven) {
  const Names names = true_names();
  std::vector<bool> is_given(names.size());
  const Result r = ropewalk(std::string("verify --json --jobs 2 --profile smoke --plugin ") +
                            ROPEWALK_MUTANTS + " --kernel 'mutant_*' --property agreement");
  std::istringstream rows(r.out);
  int failures = 0, named = 0;
  for (std::string line; std::getline(rows, line);) {
    const std::string kernel = field(line, "kernel"), cause = field(line, "cause");
    if (field(line, "row") != "verdict" || field(line, "verdict") != "FAIL") continue;
    ++failures;
    if (cause.empty()) continue;
    ++named;
    bool is_true = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (kernel.starts_with("mutant_" + names[i].first) && contains(cause, names[i].second))
        is_true = is_given[i] = true;
    EXPECT_TRUE(is_true) << kernel << " is named: " << cause;
  }
  EXPECT_GE(named, failures / 2);
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_TRUE(is_given[i]) << names[i].first << " is never named: " << names[i].second;
}

}  // namespace
