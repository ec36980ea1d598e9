#include "reports/compare.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reports/sample_results.h"

namespace ropewalk {
namespace {

Results base() {
  Results results = sample_results();
  results.run.environment["memory_total"] = "7800 MiB";
  // Three launches each: launches speak for themselves.
  std::vector<TimingRow> more;
  for (const TimingRow& row : results.timings)
    if (row.launch == 0) {
      more.push_back(row);
      more.back().launch = 2;
    }
  results.timings.insert(results.timings.end(), more.begin(), more.end());
  return results;
}

/// The kernel's times, all launches, times `factor`.
Results slowed(const std::string& kernel, double factor) {
  Results results = base();
  for (TimingRow& row : results.timings)
    if (row.kernel == kernel) {
      for (double& ns : row.ns_per_token) ns *= factor;
      row.ns_per_token_median *= factor;
    }
  return results;
}

Comparison compare(const Results& b, double max_regression = 0) {
  return compare_runs(base(), b, "a.jsonl", "b.jsonl", max_regression);
}

std::int64_t count(const Comparison& comparison, const std::string& outcome) {
  return std::count_if(comparison.cells.begin(), comparison.cells.end(),
                       [&](const ComparedCell& cell) { return cell.outcome == outcome; });
}

TEST(LaunchInterval, IsTheRangeOfAllQuotients) {
  const Interval interval = launch_interval({100, 104, 102}, {110, 112, 108});
  EXPECT_DOUBLE_EQ(interval.ratio, 110.0 / 102);
  EXPECT_DOUBLE_EQ(interval.low, 108.0 / 104);
  EXPECT_DOUBLE_EQ(interval.high, 112.0 / 100);
  EXPECT_DOUBLE_EQ(interval.coverage, 0.9) << "2 of 20 orders";
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
      interval = launch_interval(a, b);
      inside += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
      const double ratio = median_of(b) / median_of(a);
      narrower += std::abs(ratio - 1) < 0.01 ? 1 : 0;  // control: a fixed band does not cover
    }
    EXPECT_GE(inside, (interval.coverage - 0.02) * runs) << launches;
    EXPECT_LT(narrower, (interval.coverage - 0.02) * runs) << launches;
  }
}

TEST(LaunchInterval, OneLaunchIsNotTrustedWithItsOwnSpread) {
  const Interval interval = launch_interval({100}, {110});
  EXPECT_LT(interval.low, 1) << "ten percent between two single processes is no news";
  EXPECT_GT(launch_interval({100}, {200}).low, 1.5) << "but twice the time is";
  EXPECT_EQ(launch_interval({}, {1}).rounds, 0);
}

TEST(Compare, ARunAgainstItselfHasNoRegression) {
  const Comparison same = compare(base());
  EXPECT_EQ(same.invalid, "");
  EXPECT_EQ(same.regressions, 0);
  EXPECT_EQ(count(same, "FASTER") + count(same, "SLOWER"), 0);
  EXPECT_TRUE(same.told.empty());
}

TEST(Compare, WhatMayDifferIsNotCalledSame) {
  const Comparison same = compare(base());
  EXPECT_GT(count(same, "SAME") + count(same, "UNRESOLVED"), 0);
  for (const ComparedCell& cell : same.cells)
    if (cell.outcome == "SAME") {
      EXPECT_GE(cell.ratio.low, 0.99) << cell.kernel;
      EXPECT_LE(cell.ratio.high, 1.01) << cell.kernel;
    }
}

TEST(Compare, FindsASlowerKernelAndAllowsWhatWasAllowed) {
  const Comparison slower = compare(slowed("elementwise", 1.2));
  EXPECT_EQ(slower.regressions, 12);
  EXPECT_EQ(count(slower, "SLOWER"), 12);
  for (std::size_t i = 0; i < slower.cells.size(); ++i)
    EXPECT_EQ(slower.cells[i].kernel == "elementwise", i < 12) << "regressions stand first";
  EXPECT_NEAR(slower.cells[0].ratio.ratio, 1.2, 0.005);
  const Comparison allowed = compare(slowed("elementwise", 1.2), 0.3);
  EXPECT_EQ(allowed.regressions, 0);
  EXPECT_EQ(count(allowed, "SLOWER"), 12) << "it is slower all the same";
  EXPECT_EQ(count(compare(slowed("elementwise", 0.8)), "FASTER"), 12);
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
  EXPECT_EQ(count(compare(slowed("elementwise", 1.08)), "SLOWER"), 12);
  EXPECT_EQ(count(comparison, "SLOWER"), 11);
  for (const ComparedCell& cell : comparison.cells) {
    const bool is_noisy = cell.workload == first.workload && cell.board == first.board;
    EXPECT_EQ(cell.floor > 0.1, is_noisy && cell.ratio.rounds > 0) << cell.workload << cell.board;
    EXPECT_EQ(cell.outcome == "SLOWER", cell.kernel == "elementwise" && !is_noisy) << cell.workload;
  }
}

TEST(Compare, AMachineThatDriftsIsNoRegression) {
  Results drifted = base();
  for (TimingRow& row : drifted.timings)
    for (double& ns : row.ns_per_token) ns *= 1.3;
  EXPECT_EQ(compare(drifted).regressions, 0);
  std::erase_if(drifted.timings, [](const TimingRow& row) { return row.is_ceiling(); });
  EXPECT_GT(compare(drifted).regressions, 0) << "without a ceiling drift cannot be told apart";
}

TEST(Compare, ALostSpeedIsARegression) {
  Results broken = base();
  for (VerdictRow& row : broken.verdicts)
    if (row.kernel == "dense") row.verdict = "FAIL";
  const Comparison comparison = compare(broken);
  EXPECT_EQ(count(comparison, "BROKEN"), 12 + 12) << "wrong_way was broken before";
  EXPECT_EQ(comparison.regressions, 12 + 1) << "and its verdict";
  for (const ComparedCell& cell : comparison.cells)
    if (cell.outcome == "BROKEN") {
      EXPECT_EQ(cell.ns_a + cell.ns_b, 0);
    }
}

TEST(Compare, AVanishedKernelIsARegression) {
  Results gone = base();
  std::erase_if(gone.timings, [](const TimingRow& row) { return row.kernel == "dense"; });
  EXPECT_EQ(compare(gone).regressions, count(compare(gone), "GONE"));
  EXPECT_GT(compare(gone).regressions, 0);
  // A workload that nobody was timed on was left out.
  Results fewer = base();
  const std::string workload = fewer.timings.front().workload;
  std::erase_if(fewer.timings, [&](const TimingRow& row) { return row.workload == workload; });
  EXPECT_GT(count(compare(fewer), "GONE"), 0);
  EXPECT_EQ(compare(fewer).regressions, 0);
}

TEST(Compare, OtherWorkUnderTheSameNameIsNotCompared) {
  Results other = base();
  for (TimingRow& row : other.timings) row.working_set_bytes += 64;
  const Comparison comparison = compare(other);
  EXPECT_GT(count(comparison, "CHANGED"), 0);
  EXPECT_EQ(count(comparison, "SAME") + count(comparison, "UNRESOLVED"), 0);
}

TEST(Compare, ARunThatWasCutOffIsNotCompared) {
  Results cut = base();
  cut.complete = false;
  EXPECT_NE(compare(cut).invalid.find("b.jsonl was cut off"), std::string::npos);
}

// wrong_way failed before; what else fails of it is news all the same.
TEST(Compare, AnotherFailureOfABrokenKernelIsARegression) {
  Results worse = base();
  VerdictRow held = sample_verdict();
  for (const VerdictRow& row : worse.verdicts)
    if (row.kernel == "wrong_way") held = row;
  held.dtype = "f64";
  held.compared = 1;
  held.verdict = "PASS";
  Results before = base();
  before.verdicts.push_back(held);
  held.verdict = "FAIL";
  worse.verdicts.push_back(held);
  const Comparison comparison = compare_runs(before, worse, "a", "b", 0);
  ASSERT_EQ(comparison.verdicts.size(), 1u);
  EXPECT_NE(comparison.verdicts[0].find("FAIL on"), std::string::npos) << comparison.verdicts[0];
  EXPECT_EQ(comparison.regressions, 1);
}

TEST(Compare, RefusesOtherMachinesAndInvalidRuns) {
  for (const auto& [key, value] :
       {std::pair("cpu_model", "another"), std::pair("cpu_caches", "L1d 32 KiB"),
        std::pair("memory_total", "64000 MiB"), std::pair("cpu_model", "")}) {
    Results other = base();
    other.run.environment[key] = value;
    EXPECT_THROW(compare(other), BadResults) << key;
  }
  Results near = base();
  near.run.environment["memory_total"] = "7790 MiB";
  near.run.environment["compiler"] = "clang";
  EXPECT_EQ(compare(near).told.size(), 2u);
  // What is never the same twice is no news.
  for (const char* key : {"load_average", "cpu_steal_since_boot", "memory_available",
                          "timer_overhead_ns", "scalar_after_512_bit"})
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
  const std::string text = comparison_markdown(compare(other), "a.jsonl", "b.jsonl");
  EXPECT_EQ(text.rfind("## ✗ 24 regressions\n", 0), 0u) << text.substr(0, 100);
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_NE(text.find("<details><summary>All other cells"), std::string::npos);
  EXPECT_EQ(comparison_markdown(compare(base()), "a", "b").rfind("## ✓ No regression", 0), 0u);
}

}  // namespace
}  // namespace ropewalk
