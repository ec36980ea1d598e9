// The published kill matrix has all mutants and properties that exist, and no others.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tools/tests/shell.h"

namespace {

// The words of the page that begin with a prefix.
std::set<std::string> words_of_page(const std::string& prefix) {
  std::set<std::string> out;
  std::istringstream page(slurp(ROPEWALK_KILL_MATRIX));
  for (std::string word; page >> word;)
    if (word.starts_with(prefix)) out.insert(word);
  return out;
}

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
  EXPECT_EQ(words_of_page("mutant_"), registered)
      << "ropewalk mutants --profile smoke --markdown docs/kill-matrix.md --quiet";
}

}  // namespace
