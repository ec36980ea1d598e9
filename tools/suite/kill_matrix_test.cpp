// The published kill matrix has all mutants and properties that exist, and no others.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

// The mutants of the page: rows of the matrix, and words of the last column of the properties,
// which leaves out the prefix.
std::set<std::string> mutants_of_page() {
  std::set<std::string> out;
  std::istringstream page(slurp(ROPEWALK_KILL_MATRIX));
  for (std::string line; std::getline(page, line);) {
    const bool is_property = line.starts_with("| ") && contains(line, " | `");
    std::istringstream words(is_property ? line.substr(line.rfind("| ", line.size() - 2)) : line);
    for (std::string word; words >> word;) {
      if (word.ends_with(',')) word.pop_back();
      if (is_property && word != "|") out.insert("mutant_" + word);
      if (word.starts_with("mutant_")) out.insert(word);
    }
  }
  return out;
}

TEST(KillMatrix, PublishedIsOfTheMutantsThatThereAre) {
  const Result r =
      ropewalk(std::string("list --json --kernel 'mutant_*' --plugin ") + ROPEWALK_MUTANTS +
               " --plugin " + ROPEWALK_DEVICE_MUTANTS + " --plugin " + ROPEWALK_COMPOSED_MUTANTS);
  ASSERT_EQ(r.code, 0) << r.err;
  std::set<std::string> registered;
  std::istringstream rows(r.out);
  for (std::string row; std::getline(rows, row);)
    if (const std::string kernel = field(row, "kernel"); !kernel.empty()) registered.insert(kernel);
  EXPECT_GT(registered.size(), 150u);
  EXPECT_EQ(mutants_of_page(), registered)
      << "ropewalk mutants --profile smoke --markdown docs/kill-matrix.md --quiet";
}

}  // namespace
