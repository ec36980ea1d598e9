// What a run as a whole says. Known failures excuse no others, and steal is counted once.
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

/// Only `dense` has failed, and the failure is known; the exit code is 0.
Results with_a_known_failure() {
  Results results = sample_results();
  std::erase_if(results.verdicts, [](const VerdictRow& row) {
    return is_failure(verdict_of(row)) || row.kernel == "wrong_way";
  });
  std::erase_if(results.timings,
                [](const TimingRow& row) { return row.outcome != Outcome::measured; });
  VerdictRow& failed = results.verdicts.emplace_back(sample_verdict());
  failed.kernel = "dense";
  failed.dtype = "f16";
  failed.verdict = Verdict::fail;
  failed.known = "until 2027-01-01: a bug";
  results.end.exit_code = 0;
  return results;
}

/// Makes the timings of `dense` BROKEN.
Results broken(Results results, const std::string& reason, const std::string& known,
               int exit_code) {
  for (TimingRow& row : results.timings)
    if (row.kernel == "dense") {
      make_broken(row);
      row.reason = reason;
      row.known = known;
    }
  results.end.exit_code = exit_code;
  return results;
}

TEST(KnownFailures, ExcuseNothingElse) {
  const Results known = with_a_known_failure();
  const Results same = broken(known, "FAIL agreement: off (known until 2027-01-01: a bug)",
                              "until 2027-01-01: a bug", 0);
  for (const Results* each : {&known, &same}) {
    EXPECT_TRUE(contains(summarize(*each).headline, "failed, as is known"));
    EXPECT_TRUE(contains(junit_of(*each), "failures=\"0\""));
  }
  // The second reason holds text of the kernel, which must not pass as a known failure.
  for (const char* reason : {"SIGSEGV while timed", "an exception left the kernel: (known bug)"}) {
    const Results news = broken(known, reason, "", 1);
    EXPECT_FALSE(contains(summarize(news).headline, "as is known")) << summarize(news).headline;
    EXPECT_TRUE(contains(html_of(news), reason));
    EXPECT_FALSE(contains(junit_of(news), "testsuites name=\"ropewalk\" tests=\"0\""));
    EXPECT_TRUE(contains(junit_of(news), "failure type=\"BROKEN\""));
  }
}

TEST(KnownFailures, AreShownEverywhereAndRedNowhereInCi) {
  Results results = sample_results();
  results.end.exit_code = 0;
  for (VerdictRow& row : results.verdicts)
    if (is_failure(row.verdict)) row.known = "until 2999-12-31: issue 7 & others";
  for (TimingRow& row : results.timings)  // as bench writes it
    if (row.outcome == Outcome::broken) {
      row.known = "until 2999-12-31: issue 7 & others";
      row.reason += " (known " + row.known + ")";
    }
  const std::string known = "known until 2999-12-31: issue 7 &amp; others";
  const std::string junit = junit_of(results);
  EXPECT_EQ(count(junit, "<failure "), 0u);
  EXPECT_EQ(count(junit, "<skipped "), 24u);
  EXPECT_EQ(count(junit, "<skipped message=\"FAIL, " + known + "\"/>"), 6u);
  EXPECT_EQ(count(junit, "<system-out>claim: "), 6u);
  EXPECT_TRUE(contains(junit, "replay: ropewalk replay"));
  const std::string page = html_of(results);
  EXPECT_TRUE(contains(page, known));
  EXPECT_TRUE(contains(page, "1 of 5 kernels failed, as is known"));
  EXPECT_EQ(count(page, "<dl id=\"failure-"), 6u);
  EXPECT_TRUE(contains(markdown_of(results), "until 2999-12-31: issue 7 & others"));
  EXPECT_TRUE(contains(csv_of(results), "until 2999-12-31: issue 7 & others"));
  results.verdicts[results.verdicts.size() - 1].verdict = Verdict::fail;
  EXPECT_FALSE(contains(html_of(results), "as is known"));
  EXPECT_EQ(count(junit_of(results), "<failure "), 1u);
}

TEST(JUnit, ARunThatFailedWithoutARowIsNotGreen) {
  Results results = with_a_known_failure();
  results.end.exit_code = 1;  // e.g. because the ledger differed
  EXPECT_TRUE(contains(junit_of(results), "the run ended with exit code 1"));
  EXPECT_TRUE(contains(summarize(results).headline, "ended with exit code 1"));
}

/// Six rounds a launch, two of which disturb either the twin or all kernels but the baseline.
Results with_noise(bool twin, double factor) {
  Results results = with_a_known_failure();
  results.verdicts.erase(results.verdicts.end() - 1);
  for (TimingRow& row : results.timings) {
    row.ns_per_token.resize(6);
    row.iterations.resize(6);
    const bool hit = twin ? row.is_twin() : row.role == Role::kernel || row.is_twin();
    for (const std::size_t round : {0u, 1u})
      if (hit) row.ns_per_token[round] *= factor;
  }
  return results;
}

TEST(Speeds, ANoisyRunIsNotCalledValid) {
  const std::string valid = "<span class=\"pill good\">✓ valid</span>";
  EXPECT_TRUE(contains(html_of(sample_results(), "/"), valid));
  for (const double factor : {8.69, 100.0}) {
    const Results noisy = with_noise(true, factor);
    ASSERT_TRUE(summarize(noisy).claims.valid);
    const std::string page = html_of(noisy, "/");
    EXPECT_FALSE(contains(page, valid));
    EXPECT_TRUE(contains(page, "<span class=\"pill slow\">? noisy"));
    const std::string text = markdown_of(noisy);
    EXPECT_TRUE(contains(text, "**? noisy** ")) << text.substr(0, 2000);
    EXPECT_EQ(contains(text, "noise floor more than 1,000 %"), factor > 50);
    for (const char* each : {"8,869 %", "9,9", "inf"}) EXPECT_FALSE(contains(text, each)) << each;
  }
}

TEST(Speeds, WhatIsUnresolvedHasNoRank) {
  const Results noisy = with_noise(false, 0.1);
  const Summary summary = summarize(noisy);
  int unresolved = 0, ranked = 0;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests) {
      int resolved = 0;
      for (const BoardEntry& entry : contest.entries) {
        const bool open = entry.outcome == Outcome::unresolved && !entry.row->is_twin();
        unresolved += open;
        EXPECT_TRUE(entry.rank == 0 || !open) << entry.row->kernel;
        resolved += entry.rank > 0 && entry.row->role != Role::baseline;
        ranked += entry.rank > 0;
      }
      for (const BoardEntry& entry : contest.entries)
        EXPECT_TRUE(entry.row->role != Role::baseline || (entry.rank > 0) == (resolved > 0))
            << "the only one has won nothing";
    }
  EXPECT_GT(unresolved, 0);
  EXPECT_GT(ranked, 0);
  const Results results = sample_results();
  for (const Board& board : summarize(results).boards)
    for (const Contest& contest : board.contests)
      EXPECT_EQ(contest.entries[1].rank, contest.entries[1].row->is_twin() ? 0 : 1);
}

TEST(Speeds, WhatStaysOpenSaysWhy) {
  const Results noisy = with_noise(true, 8.69);
  for (const std::string& text : {html_of(noisy, "/"), csv_of(noisy)})
    EXPECT_TRUE(contains(text, "too noisy: needs "));
}

// Within a kernel, the order is by what a failure tells, whatever the order of the rows. Known
// failures come last.
TEST(Failures, StandInTheOrderOfWhatTheyTell) {
  Results results = sample_results();
  results.verdicts.clear();
  const auto add = [&](const char* kernel, const char* property, Verdict verdict,
                       const char* cause = "", const char* known = "") {
    VerdictRow& row = results.verdicts.emplace_back(sample_verdict());
    row.kernel = kernel;
    row.property = property;
    row.verdict = verdict;
    row.margin = 9;
    row.cause = cause;
    row.known = known;
  };
  add("first", "norm", Verdict::fail);
  add("first", "threads", Verdict::vacuous);
  add("first", "decay", Verdict::crash);
  add("first", "order", Verdict::fail, "writes zeros", "until 2027-01-01: a bug");
  add("first", "agreement", Verdict::fail, "rotates the other way");
  add("second", "strides", Verdict::fail, "writes zeros");
  const Summary summary = summarize(results);
  std::string order;
  for (const VerdictRow* row : summary.failures) order += row->property + " ";
  EXPECT_EQ(order, "agreement decay norm threads order strides ");
}

TEST(Failures, TellTheWorstMarginBesideTheShrunkCases) {
  Results results = sample_results();
  for (VerdictRow& row : results.verdicts) {
    if (row.verdict != Verdict::fail) continue;
    row.margin = 1.02;
    row.worst_margin = 38677;
    row.worst_replay = "ropewalk replay 'the worst'";
    row.cause = "rotates the other way (1 wrong pair fits)";
  }
  for (const std::string& text :
       {markdown_of(results), html_of(results), csv_of(results), junit_of(results)}) {
    EXPECT_TRUE(contains(text, "38677") || contains(text, "3.9e4")) << text.substr(0, 200);
    EXPECT_TRUE(contains(text, "rotates the other way (1 wrong pair fits)"));
    EXPECT_TRUE(contains(text, "the worst"));
  }
}

}  // namespace
}  // namespace ropewalk::report
