#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include <limits>

namespace ropewalk {
namespace {

TEST(CleanText, KeepsTextAndReplacesTheRest) {
  EXPECT_EQ(clean_text("γ ✓ 🪢 \n\t"), "γ ✓ 🪢 \n\t");
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(clean_text(std::string("a\0b", 3)), "a" + mark + "b");
  EXPECT_EQ(clean_text("\x1b[31m"), mark + "[31m");
  EXPECT_EQ(clean_text("\xff\xc0\xaf"), mark + mark + mark);  // overlong
  EXPECT_EQ(clean_text("\xed\xa0\x80"), mark + mark + mark);  // surrogate
  EXPECT_EQ(clean_text("\xf5\x80\x80\x80"), mark + mark + mark + mark);
  EXPECT_EQ(clean_text("\xe2\x82"), mark + mark);  // cut short
  EXPECT_EQ(clean_text("a\xE2\x80\xAE"
                       "b"),
            "a" + mark + "b");  // right-to-left override
  EXPECT_EQ(clean_text("a\xE2\x80\x8B"
                       "b"),
            "a" + mark + "b");  // zero width
  EXPECT_EQ(clean_line("two\nlines"), "two lines");
}

TEST(MarkdownCode, CannotBeLeft) {
  EXPECT_EQ(markdown_code("half_split"), "`half_split`");
  EXPECT_EQ(markdown_code("a`b``c"), "```a`b``c```");
  EXPECT_EQ(markdown_code("`x`"), "`` `x` ``");
  EXPECT_EQ(markdown_code("two\n| rows"), "<code>two &#124; rows</code>");
  EXPECT_EQ(markdown_code("\\|<b>"), "<code>&#92;&#124;&#60;b&#62;</code>");
  EXPECT_EQ(markdown_code(""), "");
  EXPECT_EQ(markdown_block("a\n```\nb"), "````\na\n```\nb\n````");
}

TEST(CsvText, IsQuotedAndNoFormula) {
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_text("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_text("two\nlines"), "two lines");
  for (const char* formula : {"=cmd()", "+1", "-1", "@SUM(A1)"})
    EXPECT_EQ(csv_text(formula), std::string("'") + formula);
  EXPECT_EQ(csv_text("=A1,\"B\""), "\"'=A1,\"\"B\"\"\"");
  EXPECT_EQ(csv_text("- 1"), "'- 1");
  EXPECT_EQ(csv_text(" plain = 1"), " plain = 1") << "a sign behind a word begins nothing";
  EXPECT_EQ(csv_text("  "), "  ");
}

TEST(CsvText, AFormulaBehindBlanksIsNone) {
  for (const char* before : {"\t", "\r", "\n", " ", " \t ", "\v", "\x01", "\xC2\xA0",
                             "\xE2\x80\x8B", "\xEF\xBB\xBF", "\xE3\x80\x80", "\"", "\xFF"})
    for (const char* sign : {"=", "+", "-", "@", "|", "%", "\xEF\xBC\x9D", "\xEF\xBC\x8B",
                             "\xEF\xBC\x8D", "\xEF\xBC\xA0"}) {
      const std::string cell = csv_text(std::string(before) + sign + "cmd");
      EXPECT_EQ(cell.find_first_not_of('"'), cell.find('\'')) << cell;
      EXPECT_NE(cell.find('\''), std::string::npos) << cell;
    }
}

TEST(XmlText, IsEscaped) {
  EXPECT_EQ(xml_text("<a b=\"c\">&"), "&lt;a b=&quot;c&quot;&gt;&amp;");
  EXPECT_EQ(xml_text("\x01"), "\xEF\xBF\xBD");
}

TEST(Numbers, PercentsEndAtAThousand) {
  EXPECT_EQ(percent_text(0.5), "0.50 %");
  EXPECT_EQ(percent_text(769), "769 %");
  EXPECT_EQ(percent_text(1000.5), "more than 1,000 %");
  EXPECT_EQ(percent_text(std::numeric_limits<double>::infinity()), "more than 1,000 %");
  EXPECT_EQ(percent_text(std::nan("")), "unknown");
}

TEST(Numbers, AreReadable) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(number_text(0.942), "0.942");
  EXPECT_EQ(number_text(9.996), "10.0");
  EXPECT_EQ(number_text(99.96), "100");
  EXPECT_EQ(number_text(612.4), "612");
  EXPECT_EQ(number_text(10480.4), "10,480");
  EXPECT_EQ(margin_text(0), "0");
  EXPECT_EQ(margin_text(0.487), "0.49");
  EXPECT_EQ(margin_text(0.0441), "0.044");
  EXPECT_EQ(margin_text(1.0004), "1.0004");
  EXPECT_EQ(margin_text(0.99996), "1.0000");
  EXPECT_EQ(margin_text(21.3), "21.3");
  EXPECT_EQ(margin_text(4.13e6), "4.1e6");
  EXPECT_EQ(margin_text(2.5e-7), "2.5e-7");
  EXPECT_EQ(margin_text(infinity), "inf");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
  EXPECT_EQ(count_text(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(20480), "20.5 kB");
  EXPECT_EQ(bytes_text(999'999), "1.00 MB");
  EXPECT_EQ(seconds_text(214.6), "3 min 35 s");
  EXPECT_EQ(seconds_text(infinity), "an unknown time");
}

}  // namespace
}  // namespace ropewalk
