// Which kernel to use: the winner of a contest, what must be said with it, and when there is none.
#include "reports/numbers/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

struct TimedKernel {
  std::string kernel;
  double ns;
  std::string judged_on = "native";
  std::string contract = "table";
};

// A run in which the first kernel is the baseline. Each round is off by up to `jitter`, each
// contestant's in a way of its own.
Results run_of(const std::vector<TimedKernel>& kernels, double jitter = 0.001) {
  Results results;
  results.run = sample_results().run;
  results.complete = true;
  const auto add = [&](const TimedKernel& timed, Role role, std::size_t phase) {
    for (std::int64_t launch = 0; launch < 3; ++launch) {
      TimingRow row = sample_timing();
      row.kernel = timed.kernel + (role == Role::null_twin ? std::string(twin_suffix) : "");
      row.role = role;
      row.launch = launch;
      row.judged_on = timed.judged_on;
      row.ns_per_token.clear();
      for (std::size_t i = 0; i < 40; ++i)
        row.ns_per_token.push_back(timed.ns *
                                   (1 + jitter * std::sin(static_cast<double>(7 * i + 3 * phase))));
      row.iterations.assign(40, 1000);
      row.ns_per_token_median = median_of(row.ns_per_token);
      results.timings.push_back(row);
    }
  };
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    add(kernels[i], i == 0 ? Role::baseline : Role::kernel, i);
    if (i == 0) add(kernels[i], Role::null_twin, 11);
    VerdictRow verdict = sample_verdict();
    verdict.kernel = kernels[i].kernel;
    verdict.judged_on = kernels[i].judged_on;
    verdict.angle_contract = kernels[i].contract;
    results.verdicts.push_back(verdict);
  }
  return results;
}

const KernelAnswer& only(const Summary& summary) {
  EXPECT_EQ(summary.answers.size(), 1u);
  return summary.answers.front();
}

TEST(Answers, TheFastestThatIsToldFromAnotherWins) {
  const Results results = run_of({{"plain", 100}, {"fast", 60}, {"slow", 200}});
  const Summary summary = summarize(results);
  const KernelAnswer& answer = only(summary);
  ASSERT_NE(answer.winner, nullptr) << answer.why;
  EXPECT_EQ(answer.winner->row->kernel, "fast");
  EXPECT_EQ(answer.whole, answer.winner);
  EXPECT_TRUE(answer.alike.empty());
  EXPECT_TRUE(answer_text(answer).starts_with("fast, 60.0 ns a token, 1.67 times as fast as plain"))
      << answer_text(answer);
  EXPECT_TRUE(answer_words(answer).against.starts_with("40.0 % less time than plain ["));
  EXPECT_EQ(place_text(answer, "slow").find("slow, 3.3"), 0u);
  EXPECT_EQ(place_text(answer, "fast").find("fast, 0.600 times the time of plain ["), 0u);
  EXPECT_EQ(answer_sentences(summary.answers),
            std::vector{"decode, f32, given cos and sin: " + answer_text(answer)});
}

TEST(Answers, OneThatIsNotToldFromItStandsBeside) {
  const Results results = run_of({{"plain", 100}, {"fast", 60}, {"alike", 60.1}}, 0.01);
  const Summary summary = summarize(results);
  const KernelAnswer& answer = only(summary);
  ASSERT_NE(answer.winner, nullptr) << answer.why;
  ASSERT_EQ(answer.alike.size(), 1u);
  EXPECT_TRUE(answer_text(answer).starts_with("fast or alike, ")) << answer_text(answer);
  EXPECT_TRUE(answer_text(answer).ends_with("; not distinguishable")) << answer_text(answer);
}

TEST(Answers, NothingIsResolvedIfAllAreAlike) {
  const Results results = run_of({{"plain", 100}, {"other", 99.9}}, 0.05);
  const Summary summary = summarize(results);
  EXPECT_EQ(only(summary).winner, nullptr);
  EXPECT_TRUE(
      answer_text(only(summary)).starts_with("other or plain: not distinguishable by more than "))
      << answer_text(only(summary));
}

// The pairs of a sentence share the error among more than claims do.
TEST(Answers, AreNotAlikeWhereAClaimTellsThemApart) {
  const Results results = run_of({{"plain", 100}, {"same", 100.01}, {"k_p1", 101.02}}, 0.0004);
  const Summary summary = summarize(results);
  EXPECT_EQ(summary.claims.groups[0].claims.back().outcome, Outcome::slower);
  EXPECT_TRUE(answer_text(only(summary)).starts_with("same or plain, "))
      << answer_text(only(summary));
}

TEST(Answers, NoiseIsTheFirstSentenceAndTheOnlyOneIfNothingIsRanked) {
  const Results alike = run_of({{"plain", 100}, {"other", 99.9}}, 0.4);
  const std::vector<std::string> untold = answer_sentences(summarize(alike).answers);
  ASSERT_EQ(untold.size(), 1u);
  EXPECT_TRUE(
      untold[0].starts_with("Too noisy to rank: two copies of one kernel differed by up to "));
  const Results apart = run_of({{"plain", 1000}, {"fast", 10}}, 0.4);
  const std::vector<std::string> told = answer_sentences(summarize(apart).answers);
  EXPECT_TRUE(told[0].starts_with("Noisy: two copies of one kernel differed by up to ")) << told[0];
  EXPECT_TRUE(told.back().starts_with("decode, f32, given cos and sin: fast, ")) << told.back();
  const Results far = run_of({{"plain", 100}, {"far", 140}}, 0.99);
  EXPECT_EQ(answer_text(only(summarize(far))).find("plain or far: too noisy to tell apart"), 0u);
}

// The word stands with the winner, and beside it the best that needs none.
TEST(Answers, AFrameworkDoesNotWinWithoutTheWord) {
  const Results results =
      run_of({{"plain", 100}, {"pooled", 50, "framework: keeps threads"}, {"fast", 60}});
  const Summary summary = summarize(results);
  const KernelAnswer& answer = only(summary);
  ASSERT_NE(answer.winner, nullptr);
  ASSERT_NE(answer.whole, nullptr);
  EXPECT_EQ(answer.whole->row->kernel, "fast");
  EXPECT_TRUE(answer_text(answer).starts_with("pooled (framework), ")) << answer_text(answer);
  EXPECT_NE(answer_text(answer).find("framework: keeps threads; fastest without exceptions: fast"),
            std::string::npos);
}

TEST(Answers, RoundedAnglesAreSaid) {
  const Results results =
      run_of({{"plain", 100}, {"rounds", 50, "native", "f32_angle"}, {"fast", 60}});
  const Summary summary = summarize(results);
  EXPECT_EQ(only(summary).clause, "angles rounded to f32");
  EXPECT_EQ(only(summary).whole->row->kernel, "fast");
  EXPECT_TRUE(answer_text(only(summary))
                  .ends_with("; angles rounded to f32; fastest without exceptions: fast"))
      << answer_text(only(summary));
}

// Several workloads of one phase and type have lines of their own.
TEST(Answers, WorkloadsOfOnePhaseAndTypeAreNamed) {
  Results results;
  for (const char* workload : {"first", "second"}) {
    Results more = run_of({{"plain", 100}, {std::string("fast_") + workload, 60}});
    results.run = more.run;
    for (TimingRow& row : more.timings) row.workload = workload;
    results.timings.insert(results.timings.end(), more.timings.begin(), more.timings.end());
    results.verdicts.insert(results.verdicts.end(), more.verdicts.begin(), more.verdicts.end());
  }
  const std::vector<AnswerLine> lines = answer_lines(summarize(results).answers);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].of, "decode, f32 (first)");
  EXPECT_EQ(lines[1].by[0].kernel, "fast_second");
  EXPECT_TRUE(lines[1].by[0].rest.starts_with(", 60.0 ns a token")) << lines[1].by[0].rest;
  EXPECT_EQ(lines[1].by[1].kernel, "");
}

}  // namespace
}  // namespace ropewalk::report
