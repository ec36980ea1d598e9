// The published kill matrix counts all mutants that exist, judged and not judged.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

// The values of a field in lines of JSON, if they begin with the prefix.
std::set<std::string> values(const std::string& rows, const std::string& field,
                             const std::string& prefix) {
  std::set<std::string> out;
  const std::string begin = "\"" + field + "\":\"" + prefix;
  for (auto at = rows.find(begin); at != std::string::npos; at = rows.find(begin, at + 1)) {
    const auto from = at + field.size() + 4;
    out.insert(rows.substr(from, rows.find('"', from) - from));
  }
  return out;
}

TEST(KillMatrix, PublishedIsOfTheMutantsThatThereAre) {
  const Result r =
      ropewalk(std::string("list --json --kernel 'mutant_*' --plugin ") + ROPEWALK_MUTANTS +
               " --plugin " + ROPEWALK_DEVICE_MUTANTS + " --plugin " + ROPEWALK_COMPOSED_MUTANTS);
  ASSERT_EQ(r.code, 0) << r.err;
  const auto registered = values(r.out, "kernel", "mutant_");
  EXPECT_GT(registered.size(), 150u);
  const std::string page = slurp(ROPEWALK_KILL_MATRIX), of = "| suite | of ";
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
