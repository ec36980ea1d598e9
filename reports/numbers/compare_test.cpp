#include "reports/numbers/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/numbers/ratio_interval.h"
#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

/// With three launches of each contestant, which show their own spread.
Results base() {
  Results results = sample_results();
  results.run.environment["memory_total"] = "7800 MiB";
  return results;
}

/// Like a run of the command: every kernel stands beside a baseline.
Results with_baselines() {
  Results results = base();
  std::erase_if(results.timings,
                [](const TimingRow& row) { return row.board.ends_with("computed"); });
  return results;
}

/// Multiplies the times of each row by factor_of(row).
template <class Factor>
Results scaled(Results results, Factor&& factor_of) {
  for (TimingRow& row : results.timings) {
    for (double& ns : row.ns_per_token) ns *= factor_of(row);
    row.ns_per_token_median *= factor_of(row);
  }
  return results;
}
/// The same of one kernel, in all launches.
Results slowed(const std::string& kernel, double factor) {
  return scaled(base(), [&](const auto& row) { return row.kernel == kernel ? factor : 1; });
}

Results without(const std::string& kernel) {
  Results results = base();
  std::erase_if(results.timings, [&](const TimingRow& row) { return row.kernel == kernel; });
  return results;
}

Comparison compare(const Results& b, double max_regression = 0.05) {
  return compare_runs(base(), b, "a.jsonl", "b.jsonl", max_regression);
}

std::int64_t count(const Comparison& comparison, Outcome outcome) {
  return std::count_if(comparison.cells.begin(), comparison.cells.end(),
                       [&](const ComparedCell& cell) { return cell.outcome == outcome; });
}

/// Launches in which all rounds took the same time.
std::vector<LaunchTime> exact(const std::vector<double>& medians) {
  std::vector<LaunchTime> launches;
  for (const double ns : medians) launches.push_back({ns, ns, ns});
  return launches;
}

TEST(LaunchInterval, IsTheRangeOfAllQuotients) {
  const Interval interval = launch_interval(exact({100, 104, 102}), exact({110, 112, 108}), 0);
  EXPECT_DOUBLE_EQ(interval.ratio, 110.0 / 102);
  EXPECT_DOUBLE_EQ(interval.low, 108.0 / 104);
  EXPECT_DOUBLE_EQ(interval.high, 112.0 / 100);
  EXPECT_DOUBLE_EQ(interval.coverage, 0.9) << "2 of 20 orders";
  const Interval wide = launch_interval(exact({100, 104, 102}), exact({110, 112, 108}), 0.25);
  EXPECT_DOUBLE_EQ(wide.low, 110.0 / 102 / 1.25);
  EXPECT_DOUBLE_EQ(wide.high, 110.0 / 102 * 1.25);
}

TEST(LaunchInterval, CoversAsOftenAsItSays) {
  // Launches that differ by chance alone: the true ratio, 1, must lie inside.
  std::uint64_t state = 20210420;
  const auto launch = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return 100 * (1 + 0.09 * static_cast<double>(state >> 40) / 0x1p24);
  };
  for (const std::size_t launches : {3u, 5u}) {
    int inside = 0, narrower = 0;
    constexpr int runs = 4000;
    Interval interval;
    for (int i = 0; i < runs; ++i) {
      std::vector<double> a(launches), b(launches);
      for (double& ns : a) ns = launch();
      for (double& ns : b) ns = launch();
      interval = launch_interval(exact(a), exact(b), 0);
      inside += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
      const double ratio = median_of(b) / median_of(a);
      narrower += std::abs(ratio - 1) < 0.01 ? 1 : 0;  // control: a fixed band does not cover
    }
    EXPECT_GE(inside, (interval.coverage - 0.02) * runs) << launches;
    EXPECT_LT(narrower, (interval.coverage - 0.02) * runs) << launches;
  }
}

TEST(LaunchInterval, OneLaunchIsNotTrustedWithItsOwnSpread) {
  const Interval interval = launch_interval(exact({100}), exact({110}), 0);
  EXPECT_LT(interval.low, 1) << "ten percent between two single processes is no news";
  EXPECT_GT(launch_interval(exact({100}), exact({200}), 0).low, 1.5) << "but twice the time is";
  EXPECT_EQ(launch_interval({}, exact({1}), 0).rounds, 0);
  const Interval noisy = launch_interval({{100, 40, 260}}, exact({200}), 0);
  EXPECT_DOUBLE_EQ(noisy.low, 200.0 / 260) << "where its rounds do not agree on a median";
  EXPECT_DOUBLE_EQ(noisy.high, 200.0 / 40);
}

TEST(Compare, ARunAgainstItselfHasNoRegression) {
  const Comparison same = compare(base());
  EXPECT_EQ(same.invalid, "");
  EXPECT_EQ(same.regressions, 0);
  EXPECT_EQ(exit_code_of(same), 3) << "boards without a baseline cannot tell";
  for (const ComparedCell& cell : same.cells)
    EXPECT_EQ(cell.cannot_tell, cell.kernel == "phase") << cell.kernel << cell.workload;
  for (const ComparedCell& cell : same.cells)
    EXPECT_EQ(cell.note.starts_with("unchanged code differs by 17"), cell.cannot_tell) << cell.note;
  const Results uneven = scaled(with_baselines(), [](const TimingRow& row) {
    return row.kernel == "elementwise" && row.launch % 2 == 0 ? 1.08 : 1;
  });
  const Comparison few = compare_runs(with_baselines(), uneven, "a", "b", 0.03);
  EXPECT_GT(few.cannot_tell, 0);
  for (const ComparedCell& cell : few.cells)
    EXPECT_EQ(cell.note.ends_with(" times as many launches may decide it"), cell.cannot_tell)
        << cell.kernel << cell.note;
  const Comparison held = compare_runs(with_baselines(), with_baselines(), "a", "b", 0.05);
  EXPECT_EQ(held.cannot_tell, 0);
  EXPECT_EQ(exit_code_of(held), 0);
  EXPECT_EQ(count(same, Outcome::faster) + count(same, Outcome::slower), 0);
  EXPECT_TRUE(same.told.empty());
}

TEST(Compare, WhatMayDifferIsNotCalledSame) {
  const Comparison same = compare(base());
  EXPECT_GT(count(same, Outcome::same) + count(same, Outcome::unresolved), 0);
  for (const ComparedCell& cell : same.cells)
    if (cell.outcome == Outcome::same) {
      EXPECT_GE(cell.ratio.low, 0.99) << cell.kernel;
      EXPECT_LE(cell.ratio.high, 1.01) << cell.kernel;
    }
}

TEST(Compare, FindsASlowerKernelAndAllowsWhatWasAllowed) {
  const Comparison slower = compare(slowed("elementwise", 1.2));
  EXPECT_EQ(slower.regressions, 12);
  EXPECT_EQ(exit_code_of(slower), 1);
  EXPECT_EQ(count(slower, Outcome::slower), 12);
  for (std::size_t i = 0; i < slower.cells.size(); ++i)
    EXPECT_EQ(slower.cells[i].kernel == "elementwise", i < 12) << "regressions stand first";
  EXPECT_NEAR(slower.cells[0].ratio.ratio, 1.2, 0.005);
  const Comparison allowed = compare(slowed("elementwise", 1.2), 0.3);
  EXPECT_EQ(allowed.regressions, 0);
  EXPECT_EQ(exit_code_of(allowed), 0);
  EXPECT_EQ(count(allowed, Outcome::slower), 12) << "it is slower all the same";
  EXPECT_EQ(count(compare(slowed("elementwise", 0.8)), Outcome::faster), 12);
}

TEST(Compare, ANoisyCellDoesNotBlindTheOthers) {
  Results noisy = slowed("elementwise", 1.08);
  const TimingRow first = noisy.timings.front();
  for (TimingRow& row : noisy.timings)
    if (row.is_twin() && row.workload == first.workload && row.board == first.board)
      for (std::size_t i = 0; i < row.ns_per_token.size(); ++i)
        row.ns_per_token[i] *= i % 2 == 0 ? 1.15 : 1 / 1.15;
  const Comparison comparison = compare(noisy);
  ASSERT_EQ(comparison.invalid, "");
  EXPECT_EQ(compare(slowed("elementwise", 1.08)).regressions, 12);
  EXPECT_EQ(comparison.regressions, 11);
  EXPECT_EQ(exit_code_of(comparison), 1) << "a regression is one, whatever cannot be told";
  for (const ComparedCell& cell : comparison.cells) {
    const bool is_noisy = cell.workload == first.workload && cell.board == first.board;
    // In that group only the twin stands beside the baseline, and its launches agree.
    const bool blind = (is_noisy && cell.kernel != "plain") || cell.kernel == "phase";
    EXPECT_EQ(cell.spread > 0.1, blind && cell.ratio.rounds > 0) << cell.kernel << cell.workload;
    EXPECT_EQ(cell.cannot_tell, blind && cell.ratio.rounds > 0) << cell.kernel << cell.workload;
    EXPECT_EQ(cell.regression, cell.kernel == "elementwise" && !is_noisy) << cell.workload;
  }
}

// The floor of the claims reaches hundreds of percent here; the spread between two runs does not.
TEST(Compare, ABadEpochOfTheTwinHidesNoRegression) {
  Results before = base(), after = slowed("elementwise", 5.6);
  for (Results* results : {&before, &after}) {
    std::erase_if(results->timings, [](const TimingRow& row) { return row.launch == 2; });
    for (TimingRow& row : results->timings)
      if (!row.ns_per_token.empty()) {  // of so few rounds, a bad one is an end
        row.ns_per_token.resize(6);
        row.iterations.resize(6);
        if (row.is_twin()) row.ns_per_token[static_cast<std::size_t>(row.launch)] *= 8.7;
      }
  }
  ASSERT_GT(summarize(before).claims.noise_floor, 1) << "a floor of hundreds of percent";
  const Comparison found = compare_runs(before, after, "a", "b", 0.05);
  EXPECT_EQ(found.regressions, 12);
  EXPECT_EQ(exit_code_of(found), 1);
  const Comparison none = compare_runs(before, before, "a", "b", 0.05);
  EXPECT_EQ(none.regressions, 0);
  EXPECT_EQ(none.cannot_tell, none.compared) << "two launches do not show 5 %";
  EXPECT_EQ(exit_code_of(none), 3);
  EXPECT_EQ(comparison_text(none).rfind("# – Cannot tell: a regression of more", 0), 0u)
      << comparison_text(none).substr(0, 200);
  EXPECT_EQ(exit_code_of(compare_runs(before, before, "a", "b", 1)), 0)
      << "twice the time, they do";
}

TEST(Compare, MoreTimeNeverTakesARegressionAway) {
  const auto rank = [](const ComparedCell& cell) {
    return cell.regression ? 2 : cell.cannot_tell ? 1 : 0;
  };
  for (const std::int64_t launches : {1, 2, 3}) {
    std::map<std::string, int> before;
    for (const double factor : {0.9, 0.97, 1.0, 1.03, 1.06, 1.2, 1.3, 2.0, 5.6, 100.0})
      for (const bool one_launch : {true, false}) {
        Results a = base(), b = scaled(a, [&](const TimingRow&row) {
                              const bool kept = one_launch && row.launch == 0 && factor > 1;
                              return row.kernel == "elementwise" && !kept ? factor : 1;
                            });
        for (Results* results : {&a, &b})
          std::erase_if(results->timings, [&](const auto& row) { return row.launch >= launches; });
        for (const ComparedCell& cell : compare_runs(a, b, "a", "b", 0.05).cells) {
          if (cell.kernel != "elementwise") continue;
          int& last = before[cell.board + cell.workload + (one_launch ? "1" : "all")];
          EXPECT_GE(rank(cell), last) << factor << " " << launches << cell.workload;
          last = rank(cell);
        }
      }
  }
}

TEST(Compare, AMachineThatDriftsIsNoRegression) {
  Results drifted = scaled(base(), [](const TimingRow&) { return 1.3; });
  EXPECT_EQ(compare(drifted).regressions, 0);
  std::erase_if(drifted.timings, [](const TimingRow& row) { return row.is_ceiling(); });
  EXPECT_GT(compare(drifted).regressions, 0) << "without a ceiling drift cannot be told apart";
}

TEST(Compare, ALostSpeedIsARegression) {
  Results broken = base();
  for (VerdictRow& row : broken.verdicts)
    if (row.kernel == "dense") row.verdict = Verdict::fail;
  const Comparison comparison = compare(broken);
  EXPECT_EQ(count(comparison, Outcome::broken), 12 + 12) << "wrong_way was broken before";
  EXPECT_EQ(comparison.regressions, 12 + 1) << "and its verdict";
  for (const ComparedCell& cell : comparison.cells)
    EXPECT_TRUE(cell.outcome != Outcome::broken || cell.ns_a + cell.ns_b == 0) << cell.kernel;
}

TEST(Compare, AVanishedKernelIsARegression) {
  const Comparison gone = compare(without("dense"));
  EXPECT_EQ(gone.regressions, count(gone, Outcome::gone));
  EXPECT_GT(gone.regressions, 0);
  // A workload for which the second run has no timing was left out.
  Results fewer = base();
  const std::string workload = fewer.timings.front().workload;
  std::erase_if(fewer.timings, [&](const TimingRow& row) { return row.workload == workload; });
  EXPECT_GT(count(compare(fewer), Outcome::gone), 0);
  EXPECT_EQ(compare(fewer).regressions, 0);
}

TEST(Compare, ACompilerBaselineMayGoAndItsCompilerIsTold) {
  const auto built_by = [](const std::string& compiler) {
    Results results = base();
    for (VerdictRow& row : results.verdicts)
      if (row.kernel == "dense") {
        row.plugin = "/somewhere/ropewalk_baselines_gcc.so";
        row.summary = "built by " + compiler;
      }
    return results;
  };
  const Comparison other = compare_runs(built_by("g++ 12"), built_by("g++ 14"), "a", "b", 0.05);
  EXPECT_EQ(other.told, std::vector<std::string>{"dense: built by g++ 12 → built by g++ 14"});
  const Comparison gone = compare_runs(built_by("g++ 12"), without("dense"), "a", "b", 0.05);
  EXPECT_GT(count(gone, Outcome::gone), 0);
  EXPECT_EQ(gone.regressions, 0);
  for (const ComparedCell& cell : gone.cells)
    EXPECT_EQ(cell.note.starts_with("a compiler baseline"), cell.outcome == Outcome::gone);
}

TEST(Compare, OtherWorkUnderTheSameNameIsNotCompared) {
  Results other = base();
  for (TimingRow& row : other.timings) row.working_set_bytes += 64;
  const Comparison comparison = compare(other);
  EXPECT_GT(count(comparison, Outcome::changed), 0);
  EXPECT_EQ(count(comparison, Outcome::same) + count(comparison, Outcome::unresolved), 0);
}

TEST(Compare, ARunThatWasCutOffIsNotCompared) {
  Results cut = base();
  cut.complete = false;
  EXPECT_NE(compare(cut).invalid.find("b.jsonl was cut off"), std::string::npos);
}

// wrong_way failed before. Another failure of it is still reported.
TEST(Compare, AnotherFailureOfABrokenKernelIsARegression) {
  Results worse = base();
  VerdictRow held = *std::ranges::find(worse.verdicts, "wrong_way", &VerdictRow::kernel);
  held.dtype = "f64";
  held.compared = 1;
  held.verdict = Verdict::pass;
  Results before = base();
  before.verdicts.push_back(held);
  held.verdict = Verdict::fail;
  worse.verdicts.push_back(held);
  const Comparison comparison = compare_runs(before, worse, "a", "b", 0);
  ASSERT_EQ(comparison.verdicts.size(), 1u);
  EXPECT_NE(comparison.verdicts[0].find("FAIL on"), std::string::npos) << comparison.verdicts[0];
  EXPECT_EQ(comparison.regressions, 1);
}

TEST(Compare, TwoCeilingsAreNoCommonUnit) {
  Results other = scaled(with_baselines(), [](auto& row) { return row.is_ceiling() ? 1.12 : 1; });
  for (TimingRow& row : other.timings)
    if (row.is_ceiling()) row.variant = "another loop";
  const Comparison comparison = compare_runs(with_baselines(), other, "a", "b", 0.05);
  EXPECT_EQ(comparison.regressions, 0);
  EXPECT_EQ(comparison.cannot_tell, 0) << "neither way of counting makes it slower";
  const Comparison back = compare_runs(other, with_baselines(), "a", "b", 0.05);
  EXPECT_EQ(back.regressions, 0) << "the kernels are what they were";
  EXPECT_EQ(back.cannot_tell, back.compared) << "an eighth slower, or not";
}

TEST(Compare, RefusesOtherMachinesAndInvalidRuns) {
  for (const auto& [key, value] :
       {std::pair("cpu_model", "another"), std::pair("cpu_caches", "L1d 32 KiB"),
        std::pair("memory_total", "64000 MiB"), std::pair("cpu_model", "")}) {
    Results other = base();
    other.run.environment[key] = value;
    EXPECT_THROW(compare(other), BadFile) << key;
  }
  Results near = base();
  near.run.environment["memory_total"] = "7790 MiB";
  near.run.environment["compiler"] = "clang";
  EXPECT_EQ(compare(near).told.size(), 2u);
  // Facts that differ in every run are not reported.
  for (const char* key : {"load_average", "cpu_steal_since_boot", "memory_available"})
    near.run.environment[key] = "another";
  EXPECT_EQ(compare(near).told.size(), 2u);
  const Comparison invalid = compare(slowed("plain (twin)", 1.1));
  EXPECT_NE(invalid.invalid.find("b.jsonl is INVALID"), std::string::npos);
  EXPECT_TRUE(invalid.cells.empty());
}

TEST(Compare, MarkdownSaysTheAnswerFirstAndNamesAreInert) {
  Results other = slowed("elementwise", 1.2);
  for (TimingRow& row : other.timings)
    if (row.kernel == "dense") row.kernel = "<img src=x>|[a](http://x)";
  const std::string text = comparison_text(compare(other));
  EXPECT_EQ(text.rfind("# ✗ 24 regressions; cannot tell for 12 of 36 compared contestants\n", 0),
            0u)
      << text.substr(0, 100);
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_NE(text.find("<details><summary>All other contestants, the undecided ones first"),
            std::string::npos);
  const Results held = with_baselines();
  EXPECT_EQ(comparison_text(compare_runs(held, held, "a", "b", 0.05))
                .rfind("# ✓ No regression of more than 5.0 % found", 0),
            0u);
}

}  // namespace
}  // namespace ropewalk::report
