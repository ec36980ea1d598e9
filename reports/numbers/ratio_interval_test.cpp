// Tries the intervals on noise like that of shared machines, and the looks of a whole run.
#include "reports/numbers/ratio_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ropewalk::report {
namespace {

constexpr std::uint64_t seed = 20210420;

/// Logarithms of ratios with jitter and spikes on either side.
std::vector<double> make_logs(std::mt19937_64& random, std::int64_t n, double ratio) {
  constexpr double jitter = 0.012, spike_share = 0.08, spike = 0.4;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto one = [&] {
    const bool hit = uniform(random) < spike_share;
    return jitter * normal(random) + (hit ? std::log(1 + spike * uniform(random)) : 0);
  };
  std::vector<double> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(std::log(ratio) + one() - one());
  return out;
}

/// The share of `trials` in which the interval holds the true ratio.
template <class MakeInterval>
double coverage_of(std::int64_t n, MakeInterval&& make_interval) {
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(n));
  constexpr int trials = 4000;
  constexpr double truth = 1.02;
  int held = 0;
  for (int i = 0; i < trials; ++i) {
    const Interval interval = make_interval(make_logs(random, n, truth));
    held += interval.low <= truth && truth <= interval.high;
  }
  return static_cast<double>(held) / trials;
}

TEST(SignInterval, CoversAtLeastAsOftenAsItSays) {
  for (const std::int64_t n : {6, 9, 15, 20, 40, 60, 101})
    for (const double error : {0.05, 0.01}) {
      if (n < least_values(error)) continue;
      const double covered = coverage_of(
          n, [&](const std::vector<double>& logs) { return sign_interval(logs, error); });
      EXPECT_GE(covered, 1 - error) << n;
      EXPECT_LE(covered, 1) << n;
    }
}

TEST(SignInterval, TheSameCheckFailsIntervalsThatAreTooNarrow) {
  const auto between = [](double low, double high) {
    return Interval{1, std::exp(low), std::exp(high), 0.95, 20, 1, false};
  };
  const auto shifted = [&](std::vector<double> logs) {  // two ranks too far inside
    std::sort(logs.begin(), logs.end());
    const Interval whole = sign_interval(logs, 0.05);
    const auto outside = [&](double x) { return std::exp(x) < whole.low; };
    const auto at = static_cast<std::size_t>(std::ranges::count_if(logs, outside)) + 2;
    return between(logs[at], logs[logs.size() - 1 - at]);
  };
  const auto ends_of_quartiles = [&](std::vector<double> logs) {  // a spread is no interval
    std::sort(logs.begin(), logs.end());
    return between(logs[logs.size() * 2 / 5], logs[logs.size() * 3 / 5]);
  };
  for (const int n : {20, 40}) EXPECT_LT(coverage_of(n, shifted), 0.95) << n;
  EXPECT_LT(coverage_of(20, ends_of_quartiles), 0.95);
}

TEST(SignInterval, KnownCases) {
  EXPECT_EQ(sign_interval({}, 0.05).rounds, 0);
  const Interval few = sign_interval({0, 0.1, 0.2, 0.3, 0.4}, 0.05);  // 2 * 2^-5 > 0.05
  EXPECT_EQ(few.low, 0);
  EXPECT_TRUE(std::isinf(few.high));
  EXPECT_EQ(least_values(0.05), 6);
  std::vector<double> logs;
  for (int i = 1; i <= 20; ++i) logs.push_back(i);
  const Interval twenty = sign_interval(logs, 0.05);  // tables of the sign test: ranks 6 and 15
  EXPECT_NEAR(std::log(twenty.low), 6, 1e-12);
  EXPECT_NEAR(std::log(twenty.high), 15, 1e-12);
  EXPECT_NEAR(twenty.coverage, 0.9586, 1e-4);
  EXPECT_NEAR(std::log(twenty.ratio), 10.5, 1e-12);
}

/// What a simulated run is like.
struct SimulatedRun {
  double truth = 1;        ///< the ratio
  double correlation = 0;  ///< of neighbouring rounds (AR(1))
  double launch_sd = 0;    ///< by which the logarithms of launches differ
  bool in_blocks = true;   ///< false: the control
};

/// Draws a launch of 100 rounds with a standard deviation of 1.5 %.
std::vector<double> draw_launch(std::mt19937_64& random, const SimulatedRun& run) {
  constexpr double sd = 0.015;
  std::normal_distribution<double> normal;
  const double centre = std::log(run.truth) + run.launch_sd * normal(random);
  double state = normal(random);
  std::vector<double> out;
  for (int i = 0; i < 100; ++i) {
    out.push_back(centre + sd * state);
    state =
        run.correlation * state + std::sqrt(1 - run.correlation * run.correlation) * normal(random);
  }
  return out;
}

/// The share of runs that claim FASTER or SLOWER, by more than 1 %, for one of ten comparisons, at
/// any of their looks.
double claimed(const SimulatedRun& run, int runs) {
  constexpr double margin = 0.01, error = 0.05 / 10;
  std::mt19937_64 random(seed);
  int wrong = 0;
  for (int i = 0; i < runs; ++i) {
    LaunchLogs launches;
    bool any = false;
    while (std::ssize(launches) < most_launches) {
      launches.push_back(draw_launch(random, run));
      if (!is_look(std::ssize(launches))) continue;
      if (run.in_blocks) {
        any |= is_clear_of(ratio_interval(launches, error), margin);
        continue;
      }
      std::vector<double> all;
      for (const auto& logs : launches) all.insert(all.end(), logs.begin(), logs.end());
      const double share = share_of_look(std::ssize(launches));
      any |= is_clear_of(sign_interval(std::move(all), error * share), margin);
    }
    wrong += any;
  }
  return static_cast<double>(wrong) / runs;
}

constexpr int simulated = 1000;

TEST(Looks, TogetherErrNoMoreOftenThanTheyMay) {
  for (const double truth : {1.0, 1.01, 0.99})
    for (const double correlation : {0.0, 0.5})
      EXPECT_LE(claimed({truth, correlation}, simulated), 0.005) << truth << " " << correlation;
}

// An intermediate scatter is the hardest to notice.
TEST(Looks, LaunchesThatDifferAreNoClaim) {
  for (const auto& [truth, sd] : {std::pair{1.0, 0.03},
                                  {1.01, 0.03},
                                  {0.99, 0.03},
                                  {0.99, 0.002},
                                  {0.99, 0.003},
                                  {0.99, 0.005}})
    EXPECT_LE(claimed({truth, 0, sd}, simulated), 0.01) << truth << " " << sd;
}

TEST(Looks, ControlWithoutBlocksErrsTooOften) {
  EXPECT_GT(claimed({1.01, 0.5, 0, false}, simulated), 0.005);
  EXPECT_GT(claimed({1.01, 0, 0.03, false}, simulated), 0.01);
}

TEST(Looks, FindTwoPercent) {
  EXPECT_GE(claimed({1.02, 0}, 400), 0.95);
  EXPECT_GE(claimed({1.02, 0.5}, 400), 0.95);
  EXPECT_GE(claimed({1.02, 0, 0.004}, 400), 0.9);
}

TEST(Looks, ShareTheWholeError) {
  double looked = 0;
  for (std::int64_t launches = first_look; launches <= most_launches; ++launches) {
    EXPECT_LE(looked + share_of_look(launches), 1 + 1e-12) << "the time ends after " << launches;
    if (is_look(launches)) looked += share_of_look(launches);
  }
  EXPECT_DOUBLE_EQ(looked, 1);
  EXPECT_EQ(share_of_look(3), 1) << "looked at once";
}

TEST(Blocks, AreAsLongAsTheRoundsCorrelate) {
  std::mt19937_64 random(seed);
  const auto block = [&](double correlation) {
    std::int64_t sum = 0;
    for (int i = 0; i < 100; ++i) {
      LaunchLogs launches;
      for (int l = 0; l < 10; ++l) launches.push_back(draw_launch(random, {1, correlation}));
      sum += block_of(launches);
    }
    return static_cast<double>(sum) / 100;
  };
  EXPECT_LT(block(0), 2);
  const double half = block(0.5), most = block(0.8);
  EXPECT_GT(half, 8);
  EXPECT_GT(most, half);
  EXPECT_LE(most, 25) << "four blocks a launch";
}

}  // namespace
}  // namespace ropewalk::report
