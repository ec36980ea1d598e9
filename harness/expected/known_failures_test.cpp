#include "harness/expected/known_failures.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text_file.h"

namespace ropewalk::harness {
using namespace report;
namespace {

VerdictRow row_of(const std::string& kernel, const std::string& property, Verdict verdict) {
  VerdictRow row;
  row.kernel = kernel;
  row.property = property;
  row.verdict = verdict;
  return row;
}

std::string message_of(const std::string& text) {
  try {
    parse_known_failures(text, "known.txt");
  } catch (const BadFile& error) {
    return error.what();
  }
  return "accepted";
}

TEST(KnownFailures, ReadsLinesAndSkipsComments) {
  const auto list = parse_known_failures(
      "# ours\n\n   # indented\nmine* norm 2026-12-31 wrong at 2^30, see #7\r\n"
      "  mine\tdec?y\t2024-02-29 \t until they answer  ",
      "known.txt");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].kernel, "mine*");
  EXPECT_EQ(list[0].property, "norm");
  EXPECT_EQ(list[0].until, "2026-12-31");
  EXPECT_EQ(list[0].reason, "wrong at 2^30, see #7");
  EXPECT_EQ(list[0].line, 4);
  EXPECT_EQ(list[1].property, "dec?y");
  EXPECT_EQ(list[1].reason, "until they answer");
  EXPECT_TRUE(parse_known_failures("", "known.txt").empty());
}

TEST(KnownFailures, MalformedLinesAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"mine", "known.txt:1: a line is KERNEL PROPERTY YYYY-MM-DD reason, not 'mine'"},
      {"# fine\nmine norm\n", "known.txt:2: a line is KERNEL"},
      {"mine norm tomorrow because", "known.txt:1: a line is KERNEL"},
      {"mine norm 2026-02-30 because", "known.txt:1: a line is KERNEL"},
      {"mine norm 2026-13-01 because", "known.txt:1: a line is KERNEL"},
      {"mine norm 2026-00-10 because", "known.txt:1: a line is KERNEL"},
      {"mine norm 26-01-01 because", "known.txt:1: a line is KERNEL"},
      {"mine norm 2026-1-001 because", "known.txt:1: a line is KERNEL"},
      {"mine norm +026-01-01 because", "known.txt:1: a line is KERNEL"},
      {"mine norm 2026-01-01", "known.txt:1: no reason is given behind the date 2026-01-01"},
      {"mine norm 2026-01-01   ", "known.txt:1: no reason"},
      {"mine norm 2026-01-01 be\x1b[31mcause", "known.txt:1: contains a control character"},
      {std::string("mine norm\0", 10), "known.txt:1: contains a control character"},
      {"\177ELF", "known.txt:1: contains a control character"},
      {"\xff\xfe\xfd", "known.txt:1: a line is KERNEL PROPERTY YYYY-MM-DD reason, not '?"},
  };
  for (const auto& [text, what] : cases) {
    const std::string message = message_of(text);
    EXPECT_EQ(message.rfind(what, 0), 0u) << message << "\nwanted: " << what;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(KnownFailures, ExcuseFailuresAlone) {
  KnownFailures known("mine n* 2026-08-01 ours\n", "known.txt", "2026-08-01");
  for (const Verdict verdict : {Verdict::fail, Verdict::crash, Verdict::hang, Verdict::vacuous}) {
    VerdictRow row = row_of("mine", "norm", verdict);
    known.judge(row);
    EXPECT_EQ(row.known, "until 2026-08-01: ours") << verdict;
    EXPECT_EQ(row.verdict, verdict);
  }
  for (VerdictRow row :
       {row_of("mine", "norm", Verdict::pass), row_of("mine", "norm", Verdict::unsupported),
        row_of("mine", "decay", Verdict::fail), row_of("other", "norm", Verdict::fail)}) {
    known.judge(row);
    EXPECT_TRUE(row.known.empty()) << row.kernel << row.property << row.verdict;
  }
  EXPECT_TRUE(known.remarks().empty());
}

TEST(KnownFailures, AnExpiredLineExcusesNothingAndSaysSo) {
  KnownFailures known("mine norm 2026-08-01 ours\n", "known.txt", "2026-08-02");
  VerdictRow row = row_of("mine", "norm", Verdict::fail);
  known.judge(row);
  EXPECT_TRUE(row.known.empty());
  ASSERT_EQ(known.remarks().size(), 1u);
  EXPECT_EQ(known.remarks()[0],
            "known.txt:1: mine norm: expired on 2026-08-01, excuses nothing: ours");
}

TEST(KnownFailures, AnotherLineMayExcuseWhatAnExpiredOneDoesNot) {
  KnownFailures known("mine norm 2020-01-01 old\nmine * 2030-01-01 new\n", "known.txt",
                      "2026-08-02");
  VerdictRow row = row_of("mine", "norm", Verdict::fail);
  known.judge(row);
  EXPECT_EQ(row.known, "until 2030-01-01: new");
}

TEST(KnownFailures, NeedlessLinesAreNamed) {
  KnownFailures known("mine norm 2030-01-01 a\nmin norm 2030-01-01 b\n", "known.txt", "2026-08-02");
  VerdictRow row = row_of("mine", "norm", Verdict::pass);
  known.judge(row);
  const std::vector<std::string> wanted = {
      "known.txt:1: mine norm: no longer needed, nothing it names failed",
      "known.txt:2: min norm: names nothing that was judged here"};
  EXPECT_EQ(known.remarks(), wanted);
}

}  // namespace
}  // namespace ropewalk::harness
