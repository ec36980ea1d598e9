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

bool is_true(const Names& names, const std::string& kernel, const std::string& cause) {
  for (const auto& [begin, words] : names)
    if (kernel.starts_with("mutant_" + begin) && contains(cause, words)) return true;
  return false;
}

// A text of a row; empty if it has none, or before its first quotation mark.
std::string text_of(const std::string& row, const std::string& field) {
  const std::string begin = "\"" + field + "\":\"";
  const std::size_t at = row.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size();
  return row.substr(from, row.find('"', from) - from);
}

TEST(MutantNames, NoneIsWrong) {
  const Names names = true_names();
  ASSERT_GT(names.size(), 50u);
  const Result r = ropewalk(std::string("verify --json --jobs 2 --profile smoke --plugin ") +
                            ROPEWALK_MUTANTS + " --kernel 'mutant_*' --property agreement");
  std::istringstream rows(r.out);
  int failures = 0, named = 0, wrong = 0, places = 0;
  for (std::string line; std::getline(rows, line);) {
    const std::string kernel = text_of(line, "kernel"), cause = text_of(line, "cause");
    if (text_of(line, "row") != "verdict" || text_of(line, "verdict") != "FAIL") continue;
    ++failures;
    places += static_cast<int>(cause.empty() && !text_of(line, "diagnosis").empty());
    if (cause.empty()) continue;
    ++named;
    if (is_true(names, kernel, cause)) continue;
    ++wrong;
    ADD_FAILURE() << kernel << " is named: " << cause;
  }
  std::printf("%d failures: %d named, %d of them wrongly; %d with a place alone\n", failures, named,
              wrong, places);
  EXPECT_GE(named, failures / 2);
}

}  // namespace
