// How often compare is wrong and how often it can decide, measured on simulated runs with the noise
// of shared machines. METHODOLOGY.md states these rates.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reports/numbers/compare.h"
#include "reports/numbers/ratio_interval.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

constexpr int kernels = 4, rounds = 24;
constexpr double asked = 0.05;

const RunRow& run_row() {
  static const RunRow row = [] {
    RunRow of = sample_results().run;
    of.environment["memory_total"] = "7800 MiB";
    return of;
  }();
  return row;
}

/// One run: kernels beside a baseline, its twin and a ceiling. Each launch has its own machine
/// speed. Each launch also shifts each code's time by a log-normal factor of width `luck`. Rounds
/// have jitter and spikes of up to five times. The kernels take `ratio` times as long as the
/// baseline.
Results simulated(std::mt19937_64& random, int launches, double luck, double ratio) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Results results;
  results.complete = true;
  results.run = run_row();
  const auto add = [&](const std::string& kernel, Role role, int launch, double ns) {
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
      const double spike = uniform(random) < 0.08 ? 1 + 4 * uniform(random) : 1;
      times.push_back(ns * spike * std::exp(0.02 * normal(random)));
    }
    results.timings.push_back(timing_of(kernel, role, launch, times));
  };
  for (int launch = 0; launch < launches; ++launch) {
    const auto time = [&, machine = 100 * std::exp(0.1 * normal(random))] {
      return machine * std::exp(luck * normal(random));
    };
    add("ceiling_update", Role::ceiling, launch, 0.5 * time());
    const double baseline = time();  // also the twin's time: the same code in the same process
    add("plain", Role::baseline, launch, baseline);
    add("plain (twin)", Role::null_twin, launch, baseline);
    for (int kernel = 0; kernel < kernels; ++kernel)
      add("kernel_" + std::to_string(kernel), Role::kernel, launch, ratio * time());
  }
  for (const TimingRow& row : results.timings)
    if (row.launch == 0 && !row.is_ceiling()) {
      results.verdicts.push_back(sample_verdict());
      results.verdicts.back().kernel = kernel_of(row);
    }
  return results;
}

struct Ends {
  int cells = 0, regressions = 0, none = 0, cannot_tell = 0;
};
Ends ends_of(int launches, double luck, double ratio, int pairs) {
  std::mt19937_64 random(20210420);
  Ends ends;
  for (int pair = 0; pair < pairs; ++pair) {
    const Results a = simulated(random, launches, luck, 1);
    const Results b = simulated(random, launches, luck, ratio);
    for (const ComparedCell& cell : compare_runs(a, b, "a", "b", asked).cells) {
      if (cell.ratio.rounds == 0 || cell.kernel == "plain") continue;
      ++ends.cells;
      ends.regressions += cell.regression;
      ends.cannot_tell += cell.cannot_tell;
      ends.none += !cell.regression && !cell.cannot_tell;
    }
  }
  return ends;
}

// Between equal runs, chance may set apart launch_error / 2 of the contestants. The 5 % threshold
// and the controls leave fewer. A kernel that is exactly as slow as allowed is rarely called free
// of regression.
TEST(CompareRates, EqualRunsAreNoRegression) {
  Ends all;
  for (const int launches : {2, 3, 5})
    for (const double luck : {0.005, 0.045, 0.1}) {
      const Ends equal = ends_of(launches, luck, 1, 25);
      EXPECT_GT(equal.cells, 60) << launches << ' ' << luck;
      EXPECT_LE(equal.regressions, launch_error / 2 * equal.cells) << launches << ' ' << luck;
      // With fewer than three launches the range rests on the assumed spread.
      const bool assumed = launches < launches_to_trust && luck > 0.05;
      const Ends slower = ends_of(launches, luck, 1 + 1.1 * asked, assumed ? 0 : 25);
      EXPECT_LE(slower.none, launch_error / 2 * slower.cells) << launches << ' ' << luck;
      all.cells += equal.cells;
      all.regressions += equal.regressions;
    }
  RecordProperty("equal_cells", all.cells);
  RecordProperty("called_slower", all.regressions);
  EXPECT_LE(all.regressions, 0.005 * all.cells) << all.cells;
}

TEST(CompareRates, QuietRunsCanTell) {
  for (const int launches : {3, 5}) {
    const Ends equal = ends_of(launches, 0.005, 1, 25);
    EXPECT_GE(equal.none, 0.9 * equal.cells) << launches;
    const Ends slower = ends_of(launches, 0.005, 1.1, 25), much = ends_of(launches, 0.005, 1.2, 25);
    EXPECT_GE(slower.regressions, 0.9 * slower.cells) << launches;
    EXPECT_EQ(much.regressions, much.cells) << launches;
  }
}

TEST(CompareRates, NoisyRunsSayThatTheyCannotTell) {
  const Ends equal = ends_of(3, 0.1, 1, 25);
  EXPECT_GE(equal.cannot_tell, 0.95 * equal.cells);
  const Ends two = ends_of(2, 0.02, 1, 25);
  EXPECT_GE(two.cannot_tell, 0.95 * two.cells) << "two launches do not show 5 %";
  for (const int launches : {1, 2, 3, 5}) {
    const Ends fold = ends_of(launches, 0.045, 5.6, 5);
    EXPECT_EQ(fold.regressions, fold.cells) << launches << " launches, 5.6 times slower";
    EXPECT_GT(fold.cells, 0);
  }
}

}  // namespace
}  // namespace ropewalk::report
