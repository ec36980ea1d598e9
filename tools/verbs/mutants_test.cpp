// The published kill matrix has all mutants and properties that exist, and no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

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
  const std::string page = slurp(ROPEWALK_SOURCE_DIR "/docs/kill-matrix.md"), of = "\nOf ";
  std::set<std::string> not_judged;
  std::istringstream words(page);
  for (std::string word; words >> word;)
    if (word.starts_with("mutant_")) not_judged.insert(word);
  EXPECT_EQ(std::stoul(page.substr(page.find(of) + of.size())) + not_judged.size(),
            registered.size())
      << "ropewalk mutants --profile smoke --markdown docs/kill-matrix.md --quiet";
  EXPECT_TRUE(
      std::includes(registered.begin(), registered.end(), not_judged.begin(), not_judged.end()));
}

}  // namespace
