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
  for (const char* text : {
           "",
           "\xEF\xBB\xBF# é\na = 1 # é\n",
           "a = \"é\" # é\nb = 'é'\n",
           "a=\"é\"\n b = 'é'\t# \"é",
           "a = \"\\\"b\"\nb = '\\'\nc = \"\"\"b \\\n  c\"\"\"",
       })
    EXPECT_EQ(refused_line(text), 0) << text;
  for (const char* text : {"\"é\" = 1", "a = [\"é\"]", "a = \"\\\"é\"", "a = 'b' 'é'",
                           "a = 'b' é # é", "# é\na = '\\'", "# é\na = ''''''"})
    EXPECT_EQ(refused_line(text), 1) << text;  // TOML, but more than the format needs
  EXPECT_EQ(refused_line("a = 1\né = 2"), 2);
  EXPECT_EQ(refused_line("a = 1\n\nb =é"), 3);
  EXPECT_EQ(refused_line("[a]é"), 1);
  EXPECT_EQ(refused_line("a = \"\"é"), 1);
  EXPECT_EQ(refused_line("a = \"b\nc = é"), 2);              // the string ends with its line
  EXPECT_EQ(refused_line("a = '\\'é'"), 1);                  // no escapes in a literal string
  EXPECT_EQ(refused_line("a = \"\\é\""), 1);                 // no such escape
  EXPECT_EQ(refused_line("a = \"\"\"b\n\"\"\" é"), 2);       // behind a string of two lines
  EXPECT_EQ(refused_line("a = '''b\n''''é"), 2);             // a quote more belongs to it
  EXPECT_EQ(refused_line("a = \"\"\"b \\ \n  é\"\"\""), 2);  // toml++ issue 190
  for (const char* text : {"a = 07\"b:é", "a = 1=\"é", "a = 1[\"é", "a = 1{b=\"é", "a = 1.'é"})
    EXPECT_EQ(refused_line(text), 1) << text;  // a quote inside a bare word
  EXPECT_EQ(refused_line("\xCC\xAA"), 1);      // toml++ issue 295
}

TEST(TomlText, LinesHaveAnEnd) {
  EXPECT_EQ(refused_line("\n" + std::string(4096, '#')), 0);
  EXPECT_EQ(refused_line("\n" + std::string(4097, '#')), 2);
}

}  // namespace
}  // namespace ropewalk::bench
