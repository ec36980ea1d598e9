// The ledger and the known failures through the real command. Each test plants a difference and
// shows that it is seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tools/tests/shell.h"

namespace {

const std::string plugin = std::string(" --plugin ") + ROPEWALK_MUTANTS + " ";
const std::string one_cell = "verify --profile smoke --cases 5 --kernel plain --property norm ";

TEST(LedgerCommand, TheCommittedOneIsShort) {
  const std::string text = slurp(ROPEWALK_SOURCE_DIR "/harness/expected/ledger.txt");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30);
  EXPECT_TRUE(contains(text, "\nplain table half_split,interleaved bf16,f16,f32,f64 *")) << text;
}

TEST(LedgerCommand, LostAndNewLevelsAndPropertiesAreNamed) {
  const auto file = scratch() / "ledger.txt";
  std::filesystem::remove(file);
  const std::string all = "verify --profile smoke --cases 1 --kernel elementwise ";
  ASSERT_EQ(ropewalk(all + "--write-ledger " + file.string()).code, 0);

  // The file has a level that no kernel offers and a cell too many, and lacks two things.
  std::string text = slurp(file);
  const std::string cells = "elementwise table half_split,interleaved f32,f64 *";
  ASSERT_TRUE(contains(text, '\n' + cells)) << text;
  const std::string taken = text.substr(text.find(cells) + cells.size());
  const std::string kernel = "elementwise table ",
                    lost = "elementwise,table,half_split,f32,offers:levitation";
  spill(file, kernel + "half_split f64 *" + taken + kernel + "interleaved f32 *" + taken + kernel +
                  "half_split f16 norm\n" + kernel + "interleaved f64 * -norm" + taken + kernel +
                  "half_split f32 * offers:levitation -offers:input_layout=fused" + taken);
  const Result r = ropewalk(all + "--ledger " + file.string());
  expect(r, 1,
         {"LOST  " + lost + ": not offered\n",
          "LOST  elementwise,table,half_split,f16,norm: not offered\n",
          "NEW   elementwise,table,half_split,f32,offers:input_layout=fused\n",
          "NEW   elementwise,table,interleaved,f64,norm\n", " 2 lost, 2 new\n",
          "--write-ledger " + file.string()});
}

TEST(LedgerCommand, AKernelThatRefusesWhatItHeldFails) {
  const auto file = scratch() / "ledger.txt";
  const std::string kernel = "control_one_token_only_table";
  spill(file, kernel + " table half_split f32 decay\n");
  const Result r = ropewalk("verify --cases 5 --kernel " + kernel + " --property decay" + plugin +
                            "--ledger " + file.string());
  expect(r, 1, {"LOST  " + kernel + ",table,half_split,f32,decay: UNSUPPORTED"});
}

TEST(LedgerCommand, WhatTheMachineCannotRunIsNoDifference) {
  const auto file = scratch() / "ledger.txt";
  const std::string row = "test_needs_avx1024 table half_split f32 norm\n";
  const std::string failure = "mine decay 2999-01-01 issue 7\n";
  spill(file, row + failure);
  const std::string start =
      one_cell + "--kernel test_needs_avx1024 --plugin " + std::string(ROPEWALK_TEST_PLUGIN) + " ";
  // Rewriting on a machine that cannot run a kernel keeps all of its rows, and known failures.
  const Result written = ropewalk(start + "--write-ledger " + file.string());
  EXPECT_EQ(written.code, 0) << written.out << written.err;
  for (const std::string& kept : {row, failure}) EXPECT_TRUE(contains(slurp(file), kept));
  const Result r = ropewalk(start + "--ledger " + file.string());
  expect(r, 0, {"test_needs_avx1024 is not compared: SKIPPED", ": 8 hold, 0 lost, 0 new\n"});
}

TEST(LedgerCommand, FiltersCompareAndReplaceOnlyWhatTheyName) {
  const auto file = scratch() / "ledger.txt";
  const std::string others = "another table half_split f32 norm\n";
  spill(file, others + "plain table half_split f32 decay\n");
  EXPECT_EQ(ropewalk(one_cell + "--write-ledger " + file.string()).code, 0);
  const std::string text = slurp(file);
  EXPECT_TRUE(contains(text, others)) << text;
  EXPECT_TRUE(contains(text, "plain table half_split f32 decay norm\n")) << text;
  const Result r = ropewalk(one_cell + "--ledger " + file.string());
  expect(r, 0, {": 8 hold, 0 lost, 0 new\n"});
}

TEST(LedgerCommand, AFailureWritesNothing) {
  const auto file = scratch() / "ledger.txt";
  std::filesystem::remove(file);
  const Result r = ropewalk("verify --cases 5 --kernel mutant_scaled_twice_table --property norm" +
                            plugin + "--write-ledger " + file.string());
  expect(r, 1, {"not written"});
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(LedgerCommand, AForeignFileIsRefusedAndLeftAlone) {
  const auto file = scratch() / "ledger.txt";
  spill(file, "somebody's letter\n");
  for (const std::string option : {"--ledger ", "--write-ledger ", "--known-failures "}) {
    const Result r = ropewalk(one_cell + option + file.string());
    expect(r, 2, {}, {"ledger.txt:1: a line is KERNEL"});
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_EQ(slurp(file), "somebody's letter\n");
  }
}

// ---- known failures

const std::string failing = "verify --profile smoke --cases 5 --kernel mutant_scaled_twice_table " +
                            std::string("--property norm") + plugin;

std::string with_known(const std::string& lines) {
  spill(scratch() / "known.txt", lines);
  return " --known-failures " + (scratch() / "known.txt").string() + " ";
}

TEST(KnownFailuresCommand, AKnownFailureIsShownAndDoesNotCount) {
  EXPECT_EQ(ropewalk(failing).code, 1);
  const Result r = ropewalk(failing + with_known("mutant_* n*m 2999-12-31 issue 7\n"));
  expect(r, 0,
         {"FAIL  mutant_scaled_twice_table", "      known      until 2999-12-31: issue 7\n",
          "failures are known"});
  EXPECT_FALSE(contains(r.out, "PASS")) << r.out;
}

TEST(KnownFailuresCommand, ExpiredNeedlessAndForeignLinesAreNamed) {
  const Result expired = ropewalk(failing + with_known("mutant_* norm 2020-01-01 issue 7\n"));
  expect(expired, 1, {"known.txt:1: mutant_* norm: expired on 2020-01-01"});
  const Result needless =
      ropewalk(one_cell + with_known("plain norm 2999-01-01 a\nplan norm 2999-01-01 b\n"));
  expect(needless, 0,
         {"known.txt:1: plain norm: no longer needed",
          "known.txt:2: plan norm: names nothing that was judged"});
  const Result other = ropewalk(failing + with_known("mutant_* decay 2999-12-31 issue 7\n"));
  EXPECT_EQ(other.code, 1) << other.out << other.err;
}

TEST(KnownFailuresCommand, NeverGetASpeed) {
  const auto out = fresh();
  const std::string start =
      "bench --profile smoke --kernel plain --kernel mutant_scaled_twice_table "
      "--workload llama-3-8b/decode-1 --out " +
      out.string() + plugin;
  const std::string end = " --rounds 6 --launches 1";
  const Result r = ropewalk(start + with_known("mutant_* * 2999-12-31 issue 7\n") + end);
  expect(r, 0, {"BROKEN mutant_scaled_twice_table: FAIL", "(known until 2999-12-31: issue 7)"});
  EXPECT_EQ(ropewalk("report " + (out / "results.jsonl").string()).code, 0);
  EXPECT_TRUE(contains(slurp(out / "report.md"), "BROKEN"));
  EXPECT_TRUE(contains(slurp(out / "results.jsonl"), R"("known":"until 2999-12-31: issue 7")"));
  // A new failure beside the known one still fails the run.
  EXPECT_EQ(ropewalk(start + with_known("mutant_* norm 2999-12-31 issue 7\n") + end).code, 1);
}

}  // namespace
