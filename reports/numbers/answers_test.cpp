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
    std::vector<double> ns;
    for (std::size_t i = 0; i < 40; ++i)
      ns.push_back(timed.ns * (1 + jitter * std::sin(static_cast<double>(7 * i + 3 * phase))));
    const std::string twin(role == Role::null_twin ? twin_suffix : "");
    for (std::int64_t launch = 0; launch < 3; ++launch) {
      results.timings.push_back(timing_of(timed.kernel + twin, role, launch, ns));
      results.timings.back().judged_on = timed.judged_on;
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

/// A run, and the only answer of its summary.
struct Answered {
  explicit Answered(const std::vector<TimedKernel>& kernels, double jitter = 0.001)
      : results(run_of(kernels, jitter)), summary(summarize(results)) {
    EXPECT_EQ(summary.answers.size(), 1u);
  }
  Answered(const Answered&) = delete;
  const Results results;
  const Summary summary;
  const KernelAnswer& answer = summary.answers.front();
  const std::string text = answer_text(answer);
};

TEST(Answers, TheFastestThatIsToldFromAnotherWins) {
  const Answered run({{"plain", 100}, {"fast", 60}, {"slow", 200}});
  const KernelAnswer& answer = run.answer;
  ASSERT_NE(answer.winner, nullptr) << answer.why;
  EXPECT_EQ(answer.winner->row->kernel, "fast");
  EXPECT_EQ(answer.whole, answer.winner);
  EXPECT_TRUE(answer.alike.empty());
  EXPECT_EQ(run.text.find("fast, 60.0 ns a token, 1.67 times as fast as plain"), 0u) << run.text;
  EXPECT_TRUE(answer_words(answer).against.starts_with("40.0 % less time than plain ["));
  EXPECT_EQ(place_text(answer, "slow").find("slow, 3.3"), 0u);
  EXPECT_EQ(place_text(answer, "fast").find("fast, 0.600 times the time of plain ["), 0u);
  EXPECT_EQ(answer_sentences(run.summary.answers),
            std::vector{"decode, f32, given cos and sin: " + run.text});
}

TEST(Answers, OneThatIsNotToldFromItStandsBeside) {
  const Answered run({{"plain", 100}, {"fast", 60}, {"alike", 60.1}}, 0.01);
  ASSERT_NE(run.answer.winner, nullptr) << run.answer.why;
  ASSERT_EQ(run.answer.alike.size(), 1u);
  EXPECT_TRUE(run.text.starts_with("fast or alike, ")) << run.text;
  EXPECT_TRUE(run.text.ends_with("; not distinguishable")) << run.text;
}

TEST(Answers, NothingIsResolvedIfAllAreAlike) {
  const Answered run({{"plain", 100}, {"other", 99.9}}, 0.05);
  EXPECT_EQ(run.answer.winner, nullptr);
  EXPECT_EQ(run.text.find("other or plain: not distinguishable by more than "), 0u) << run.text;
}

// The pairs of a sentence share the error among more than claims do.
TEST(Answers, AreNotAlikeWhereAClaimTellsThemApart) {
  const Answered run({{"plain", 100}, {"same", 100.01}, {"k_p1", 101.02}}, 0.0004);
  EXPECT_EQ(run.summary.claims.groups[0].claims.back().outcome, Outcome::slower);
  EXPECT_TRUE(run.text.starts_with("same or plain, ")) << run.text;
}

TEST(Answers, NoiseIsTheFirstSentenceAndTheOnlyOneIfNothingIsRanked) {
  const Answered alike({{"plain", 100}, {"other", 99.9}}, 0.4);
  const std::vector<std::string> untold = answer_sentences(alike.summary.answers);
  ASSERT_EQ(untold.size(), 1u);
  EXPECT_EQ(untold[0].find("Too noisy to rank: two copies of one kernel differed by up to "), 0u);
  const Answered apart({{"plain", 1000}, {"fast", 10}}, 0.4);
  const std::vector<std::string> told = answer_sentences(apart.summary.answers);
  EXPECT_TRUE(told[0].starts_with("Noisy: two copies of one kernel differed by up to ")) << told[0];
  EXPECT_TRUE(told.back().starts_with("decode, f32, given cos and sin: fast, ")) << told.back();
  const Answered far({{"plain", 100}, {"far", 140}}, 0.99);
  EXPECT_TRUE(far.text.starts_with("plain or far: too noisy to tell apart")) << far.text;
}

// The word stands with the winner, and beside it the best that needs none.
TEST(Answers, AFrameworkDoesNotWinWithoutTheWord) {
  const Answered run({{"plain", 100}, {"pooled", 50, "framework: keeps threads"}, {"fast", 60}});
  ASSERT_TRUE(run.answer.winner != nullptr && run.answer.whole != nullptr);
  EXPECT_EQ(run.answer.whole->row->kernel, "fast");
  EXPECT_TRUE(run.text.starts_with("pooled (framework), ")) << run.text;
  EXPECT_TRUE(contains(run.text, "framework: keeps threads; fastest without exceptions: fast"));
}

TEST(Answers, RoundedAnglesAreSaid) {
  const Answered run({{"plain", 100}, {"rounds", 50, "native", "f32_angle"}, {"fast", 60}});
  EXPECT_EQ(run.answer.clause, "angles rounded to f32");
  EXPECT_EQ(run.answer.whole->row->kernel, "fast");
  EXPECT_TRUE(run.text.ends_with("; angles rounded to f32; fastest without exceptions: fast"));
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
