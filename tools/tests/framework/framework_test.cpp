// Frameworks: what the contract forbids and a kernel declares is counted, marked and timed. What it
// does not declare fails clean_call alone. framework_plugin.cpp has the kernels, among them some
// that hide behind an exception.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tools/tests/shell.h"
#include "tools/tests/timings.h"

namespace {

const std::string plugin = std::string(" --plugin ") + ROPEWALK_FRAMEWORK_PLUGIN;
const std::string declares_nothing = "TEST_DECLARES=0 ";

Result verify(const std::string& words, const std::string& environment = "") {
  return ropewalk("verify --profile smoke --cases 3 --property clean_call " + words + plugin,
                  environment);
}

struct Exception {
  const char *kernel, *declared, *because, *tolerates;
};
const Exception exceptions[] = {
    {"fw_allocates", "allocates", "apply called the allocator 2 times, first malloc", "allocates"},
    {"fw_prints", "prints", "apply wrote to stdout: 'a line", "prints"},
    {"fw_joins", "allocates, uses threads", "apply ran another thread", "allocates,threads"},
    {"fw_pool", "keeps threads", "prepare left 1 more thread running", "threads"},
};

TEST(Frameworks, DeclaredAreJudgedOnTheirArithmeticAndMarked) {
  for (const Exception& e : exceptions) {
    const Result r = verify(std::string("--property linearity --kernel ") + e.kernel);
    expect(r, 0, {std::string("(framework: ") + e.declared + "): 2 properties"});
  }
  const Result counted = verify("-v --kernel fw_allocates");
#if defined(ROPEWALK_SANITIZED)
  const std::string words = " calls of the allocator and ";  // two of a process are not counted
#else
  const std::string words = "\n      2 calls of the allocator and 0 KiB mapped a call";
#endif
  EXPECT_TRUE(contains(counted.out, words)) << counted.out;
}

TEST(Frameworks, UndeclaredFailCleanCallAloneAndReplay) {
  for (const Exception& e : exceptions) {
    Result r = verify(std::string("--property linearity --kernel ") + e.kernel, declares_nothing);
    r.out = unwrapped(r.out);
    expect(r, 1, {"1 of 2 properties fail\n", "): clean_call\n"});
    EXPECT_TRUE(contains(r.out, std::string("because    ") + e.because) ||
                contains(r.out, e.because))
        << r.out;
    const auto at = r.out.find("ropewalk replay '");
    ASSERT_NE(at, std::string::npos) << r.out;
    const std::string line = r.out.substr(at + 9, r.out.find('\n', at) - at - 9);
    const Result again = ropewalk(line, declares_nothing);
    EXPECT_EQ(again.code, 1) << again.out << again.err;
    const Result tolerated = ropewalk(
        "replay --tolerate " + std::string(e.tolerates) + line.substr(6), declares_nothing);
    EXPECT_EQ(tolerated.code, 0) << tolerated.out << tolerated.err;
  }
}

TEST(Frameworks, ToleranceIsSaidInEveryRow) {
  const Result r = verify("--json --kernel plain --kernel fw_joins --tolerate allocates,threads",
                          declares_nothing);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  std::istringstream lines(r.out);
  for (std::string row; std::getline(lines, row);) {
    if (!contains(row, R"("row":"verdict")")) continue;
    const bool own = field(row, "kernel") == "fw_joins";
    EXPECT_EQ(field(row, "judged_on"),
              own ? "framework: tolerated: allocates, uses threads, keeps threads" : "native");
    EXPECT_EQ(contains(field(row, "reason"), "is tolerated what it does not declare"), own) << row;
  }
  const Result other = verify("--kernel fw_joins --tolerate prints", declares_nothing);
  EXPECT_EQ(other.code, 1) << other.out;
}

TEST(Frameworks, BytesBehindAnInputMayBeReadAndNotUsed) {
  const Result reads = verify("--property linearity --kernel fw_reads_past"),
               uses = verify("--property linearity --kernel fw_uses_past");
  expect(reads, 0, {"(framework: reads 4 bytes past): 2 properties"});
  expect(uses, 1, {"1 of 2 properties fail\n", "): linearity\n"});
}

std::map<std::string, Timing> timed(const std::string& words, const std::string& environment,
                                    int code) {
  const auto out = fresh();
  const Result r = ropewalk("bench --profile smoke --launches 1 --rounds 8 --kernel plain --out " +
                                out.string() + " " + words + plugin,
                            environment);
  EXPECT_EQ(r.code, code) << r.out << r.err;
  std::map<std::string, Timing> rows;
  for (const Timing& row : timings_of(out / "results.jsonl")) rows.emplace(row.kernel, row);
  return rows;
}

TEST(Frameworks, GetNoSpeedForWhatTheyDoNotDeclare) {
  const auto rows = timed("--shape q=4,d=64,tokens=16 --kernel fw_allocates", declares_nothing, 1);
  EXPECT_EQ(rows.at("fw_allocates").outcome, "BROKEN");
  EXPECT_TRUE(contains(rows.at("fw_allocates").line, "FAIL clean_call"))
      << rows.at("fw_allocates").line;
  EXPECT_EQ(rows.at("plain").outcome, "MEASURED");
}

// N threads of others stand beside a pool that may use N processors.
TEST(Frameworks, AreTimedAndTellWhatACallDoes) {
  const auto out = fresh();
  const Result r = ropewalk(
      "bench --profile smoke --launches 1 --rounds 8 --threads 2 --kernel plain --kernel fw_pool "
      "--kernel fw_allocates --shape q=4,d=64,tokens=16 --out " +
      out.string() + plugin);
  if (r.code == 2) GTEST_SKIP() << r.err;  // one processor
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  std::map<std::string, std::string> seen;
  for (const Timing& row : timings_of(out / "results.jsonl")) {
    seen[row.kernel] += row.outcome + (contains(row.line, R"("threads":2)") ? " 2 " : " 1 ");
    const bool is_framework = contains(row.line, R"("judged_on":"framework: )");
    EXPECT_EQ(is_framework, row.kernel.starts_with("fw_")) << row.line;
    if (row.kernel == "fw_allocates" && row.outcome == "MEASURED") {
      EXPECT_TRUE(contains(row.line, R"("heap_calls":2.0)")) << row.line;
    }
  }
  EXPECT_EQ(seen["fw_pool"], "SKIPPED 1 MEASURED 2 ") << r.out;
  EXPECT_EQ(seen["fw_allocates"], "MEASURED 1 SKIPPED 2 ") << r.out;
  EXPECT_TRUE(contains(on_one_line(r.out), "framework: keeps threads; a call: 0 calls of malloc, "))
      << r.out;
}

TEST(Frameworks, HideNothingBehindTheirThreads) {
  const std::string words = "--shape q=5,d=64,tokens=1009,in_place=no --kernel fw_later --kernel ";
  auto rows = timed(words + "fw_ahead", "", 1);
  const std::map<std::string, std::string> told = {{"fw_later", "changed after apply had returned"},
                                                   {"fw_ahead", "works between calls"}};
  // On a busy machine its thread may not get to work in the pauses, and then it hides nothing, or
  // is in the middle of its work when its result is judged.
  for (int more = 0; more < 4 && !contains(rows.at("fw_ahead").line, told.at("fw_ahead")); ++more)
    rows = timed(words + "fw_ahead", "", 1);
  for (const auto& [kernel, reason] : told) {
    EXPECT_EQ(rows.at(kernel).outcome, "BROKEN");
    EXPECT_TRUE(contains(rows.at(kernel).line, reason)) << rows.at(kernel).line;
  }
}

TEST(Frameworks, BadWordsGetOneLine) {
  for (const std::string words : {"crash", "allocates,", "threads,reads"})
    expect_one_line(ropewalk("verify --kernel plain --tolerate " + words),
                    {"--tolerate: '" + words + "' is not one of allocates, threads, prints"});
}

}  // namespace
