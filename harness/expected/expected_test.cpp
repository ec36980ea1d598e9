#include "harness/expected/expected.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/testing/refusal.h"
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

const std::set<std::string> words = {"decay", "norm", "offers:fused", "order"};
const LedgerNames all{words, words};

std::string message_of(const std::string& text) {
  return refusal_by<BadFile>([&] { parse_expected(text, "e.txt", all); });
}

TEST(Expected, HasBothKindsOfLines) {
  const Expectations both = parse_expected(
      "# ours\n\n   # indented\nmine* norm 2026-12-31 wrong at 2^30, see #7\r\n"
      "plain table half_split,interleaved f16,f32 * -decay \n"
      "  mine\tdec?y\t2024-02-29 \t until they answer  ",
      "e.txt", all);
  ASSERT_EQ(both.failures.size(), 2u);
  EXPECT_EQ(both.failures[0].kernel, "mine*");
  EXPECT_EQ(both.failures[0].properties, std::vector<std::string>{"norm"});
  EXPECT_EQ(both.failures[0].until, "2026-12-31");
  EXPECT_EQ(both.failures[0].reason, "wrong at 2^30, see #7");
  EXPECT_EQ(both.failures[0].line, 4);
  EXPECT_EQ(both.failures[1].properties, std::vector<std::string>{"dec?y"});
  EXPECT_EQ(both.failures[1].reason, "until they answer");
  EXPECT_EQ(both.ledger.size(), 2 * 2 * 3u);
  EXPECT_TRUE(both.ledger.contains({"plain", "table", "interleaved", "f16", "order"}));
  EXPECT_EQ(parse_expected("", "e.txt").ledger.size(), 0u);
  // Whatever properties there are, known failures are read.
  EXPECT_EQ(parse_expected("plain table half_split f32 * -x\na b 2026-01-01 c", "").failures.size(),
            1u);
}

TEST(Expected, ALedgerComesBackSorted) {
  const std::string text =
      "# KERNEL CONTRACT PAIRINGS DTYPES PROPERTY... (docs/ledger.md)\n"
      "dense table interleaved f64 norm\n"
      "plain table half_split f16 * -order\n"
      "plain table half_split f32 * -decay offers:size_4_2\n"
      "plain table interleaved f32,f64 * -decay\n";
  EXPECT_EQ(to_text(parse_expected(text, "e.txt", all).ledger, all), text);
  EXPECT_EQ(to_text(parse_expected("z exact half_split f32 order\n"
                                   "a exact half_split,interleaved f64,f32 d* n* o*",
                                   "e.txt", all)
                        .ledger,
                    all),
            text.substr(0, text.find('\n') + 1) +
                "a exact half_split,interleaved f32,f64 *\nz exact half_split f32 order\n");
}

TEST(Expected, StarsStandForTheCommonNamesAndForTheLevelsOfAFactor) {
  const std::set<std::string> levels = {"offers:norm=plus_one", "offers:norm=weighted"};
  LedgerNames names{words, words};
  names.all.insert(levels.begin(), levels.end());
  names.all.insert({"offers:tokens=1", "offers:tokens=2"});
  names.common.insert({"offers:tokens=1", "offers:tokens=2"});
  const std::string head = "# KERNEL CONTRACT PAIRINGS DTYPES PROPERTY... (docs/ledger.md)\n",
                    whole = head + "plain table half_split f32 * offers:norm=*\n",
                    part = head + "plain table half_split f32 * -offers:tokens=*\n";
  const Ledger held = parse_expected(whole, "e.txt", names).ledger;
  EXPECT_EQ(held.size(), words.size() + 4);
  EXPECT_EQ(to_text(held, names), whole);
  EXPECT_EQ(parse_expected(part, "e.txt", names).ledger.size(), words.size());
  EXPECT_EQ(to_text(parse_expected(part, "e.txt", names).ledger, names), part);
}

TEST(Expected, MalformedLinesAreNamed) {
  const std::string cell = "plain table half_split f32 ", held = cell + "norm\n";
  const std::string form =
      "e.txt:1: a line is KERNEL PROPERTY... YYYY-MM-DD reason, or KERNEL CONTRACT";
  const std::pair<std::string, std::string> cases[] = {
      {"mine", form + " PAIRINGS DTYPES PROPERTY..., not 'mine'"},
      {"# fine\nmine norm\n", "e.txt:2: a line is KERNEL"},
      {"mine norm tomorrow because of a", form},
      {"mine norm 2026-02-30 because", form},
      {"mine norm 2026-13-01 because", form},
      {"mine norm 2026-00-10 because", form},
      {"mine norm 26-01-01 because", form},
      {"mine norm 2026-1-001 because", form},
      {"mine norm +026-01-01 because", form},
      {"mine norm 2026-01-01", "e.txt:1: no reason is given behind the date 2026-01-01"},
      {"mine norm 2026-01-01   ", "e.txt:1: no reason"},
      {"mine norm 2026-01-01 be\x1b[31mcause", "e.txt:1: contains a control character"},
      {std::string("mine norm\0", 10), "e.txt:1: contains a control character"},
      {"\177ELF", "e.txt:1: contains a control character"},
      {"\xff\xfe\xfd", form + " PAIRINGS DTYPES PROPERTY..., not '?"},
      {cell, form},
      {"plain,table,half_split,f32,norm\n", form},
      {"plain tabel half_split f32 norm", form},
      {"plain table half_split,* f32 norm", form},
      {"plain table half_split f33 norm", form},
      {"mine f32 2026-01-01 because", form},
      {held + held, "e.txt:2: the line changes nothing"},
      {cell + "* -nrom", "e.txt:1: a property changes nothing"},
      {cell + "* norm", "e.txt:1: a property changes nothing"},
      {cell + "-norm", "e.txt:1: a property changes nothing"},
  };
  for (const auto& [text, what] : cases) {
    const std::string message = message_of(text);
    EXPECT_EQ(message.rfind(what, 0), 0u) << message << "\nwanted: " << what;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  std::string endless;
  for (int i = 0; i < 20'000; ++i) endless += "k" + std::to_string(i) + " table half_split f32 *\n";
  EXPECT_EQ(message_of(endless), "e.txt:5001: says more than 20000 things");
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

TEST(KnownFailures, MayNameCellsAndSeveralProperties) {
  KnownFailures known("mine table half_split f16,bf16 norm decay 2026-08-01 ours\n", "known.txt",
                      "2026-08-01");
  for (const auto& [property, pairing, dtype, is_known] :
       {std::tuple("norm", "half_split", "f16", true),
        std::tuple("decay", "half_split", "bf16", true),
        std::tuple("norm", "half_split", "f32", false),
        std::tuple("norm", "interleaved", "f16", false),
        std::tuple("order", "half_split", "f16", false), std::tuple("norm", "", "", false)}) {
    VerdictRow row = row_of("mine", property, Verdict::fail);
    row.angle_contract = "table";
    row.pairing = pairing;
    row.dtype = dtype;
    known.judge(row);
    EXPECT_EQ(!row.known.empty(), is_known) << property << pairing << dtype;
  }
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
