// What toml++ would be asked in vain is refused before.
#include "benchmarks/workloads/toml_text.h"

#include <gtest/gtest.h>

#include "base/text_file.h"

namespace ropewalk::bench {
namespace {

/// The line that is refused; 0: none.
int refused_line(const std::string& text) {
  try {
    check_toml_text(text, "w.toml");
    return 0;
  } catch (const BadFile& bad) {
    const std::string what = bad.what();
    EXPECT_EQ(what.rfind("w.toml:", 0), 0u) << what;
    return std::stoi(what.substr(7));
  }
}

TEST(TomlText, CharactersBeyondAsciiStandInStringsAndComments) {
  for (const char* text :
       {"", "\xEF\xBB\xBF# é\na = 1 # é\n", "a = \"é\" # é\nb = ['é', \"#é\"]\n"})
    EXPECT_EQ(refused_line(text), 0) << text;
  EXPECT_EQ(refused_line("a = 1\né = 2"), 2);
  EXPECT_EQ(refused_line("a = 1\n\nb =é"), 3);
  EXPECT_EQ(refused_line("a = \"\"é"), 1);
  EXPECT_EQ(refused_line("a = \"b\nc = é"), 2) << "the string ends with its line";
}

TEST(TomlText, LinesHaveAnEnd) {
  EXPECT_EQ(refused_line("\n" + std::string(4096, '#')), 0);
  EXPECT_EQ(refused_line("\n" + std::string(4097, '#')), 2);
}

}  // namespace
}  // namespace ropewalk::bench
