#include "base/printable.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(Printable, WhatSteersATerminalIsShownAsBytes) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("two\nlines\r"), "two\\nlines\\x0d");
  EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b[2J"), "\\xc2\\x9b[2J");  // CSI as one C1 character
  EXPECT_EQ(printable("\x9b[2J"), "\\x9b[2J");           // and as one byte
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xae"
            "b");
}

TEST(Printable, LettersOfAnyScriptStay) {
  EXPECT_EQ(printable("\xce\xb8 = 10\xc2\xb0, \xe2\x82\xac, \xf0\x9f\x98\x80"),
            "\xce\xb8 = 10\xc2\xb0, \xe2\x82\xac, \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\xce"), "\\xce");                    // half a letter
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(Printable, LinesMayStay) {
  EXPECT_EQ(printable_lines("a\tb\n\x1b[1mc\n"), "a\tb\n\\x1b[1mc\n");
}

TEST(Printable, ALongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable_start("abcdef", 6), "abcdef");
  EXPECT_EQ(printable_start("abcdef", 3), "abc...");
  EXPECT_EQ(printable_start("ab\xe2\x82\xac"
                            "d",
                            4),
            "ab...");
  EXPECT_EQ(printable_start(std::string(9, '\x80'), 4), "\\x80...");
}

}  // namespace
}  // namespace ropewalk
