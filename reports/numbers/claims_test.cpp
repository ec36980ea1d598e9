// Tries the rule that makes claims from rounds on noise like that of shared machines.
#include "reports/numbers/claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

constexpr std::uint64_t seed = 20210420;

/// Times of two contestants in one launch. They share a drift in each round, and each has
/// log-normal jitter and spikes of its own. `offset` is the factor by which this process slows the
/// second one.
struct Noise {
  double jitter = 0.012, spike_share = 0.08, spike = 0.4, drift = 0.05;
};
struct DrawnRounds {
  std::vector<double> a, b;
};
DrawnRounds make_rounds(std::mt19937_64& random, std::int64_t n, double ratio,
                        const Noise& noise = {}) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  DrawnRounds out;
  double drift = 0;
  const auto one = [&] {
    const bool hit = uniform(random) < noise.spike_share;
    return std::exp(noise.jitter * normal(random)) * (hit ? 1 + noise.spike * uniform(random) : 1);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    drift = 0.9 * drift + noise.drift * normal(random);
    out.a.push_back(100 * std::exp(drift) * one());
    out.b.push_back(100 * std::exp(drift) * one() * ratio);
  }
  return out;
}

TimingRow row_of(const std::string& kernel, Role role, std::int64_t launch,
                 std::vector<double> ns) {
  TimingRow row = sample_timing();
  row.kernel = kernel;
  row.role = role;
  row.launch = launch;
  row.iterations.assign(ns.size(), 1000);
  row.ns_per_token_median = median_of(ns);
  row.ns_per_token = std::move(ns);
  return row;
}

/// Baseline, twin and one kernel in several launches. `offsets` slows the kernel in each launch.
std::vector<TimingRow> make_run(std::mt19937_64& random, std::int64_t rounds, double ratio,
                                const std::vector<double>& offsets = {1, 1, 1},
                                double twin_ratio = 1) {
  std::vector<TimingRow> rows;
  for (std::size_t launch = 0; launch < offsets.size(); ++launch) {
    const auto l = static_cast<std::int64_t>(launch);
    const DrawnRounds kernel = make_rounds(random, rounds, ratio * offsets[launch]);
    DrawnRounds twin = make_rounds(random, rounds, twin_ratio);
    for (std::size_t i = 0; i < twin.b.size(); ++i) twin.b[i] *= kernel.a[i] / twin.a[i];
    rows.push_back(row_of("plain", Role::baseline, l, kernel.a));
    rows.push_back(row_of("plain (twin)", Role::null_twin, l, twin.b));
    rows.push_back(row_of("other", Role::kernel, l, kernel.b));
  }
  return rows;
}

const Claim& claim_on(const Claims& claims, std::string_view kernel) {
  for (const Claim& claim : claims.groups.at(0).claims)
    if (claim.kernel == kernel) return claim;
  throw std::runtime_error("no claim on " + std::string(kernel));
}

// A launch that lies wholly beside a neighbour is slow by what the others tell.
TEST(Claims, RoundsOfASlowerProcessorAreCountedOverAllLaunches) {
  std::mt19937_64 random(seed);
  std::vector<TimingRow> rows = make_run(random, 100, 1);
  for (TimingRow& row : rows) row.probe_ns.assign(row.ns_per_token.size(), 1000);
  EXPECT_EQ(claims_of(rows).groups[0].slow_share, 0);
  for (TimingRow& row : rows)
    if (row.launch == 1) row.probe_ns.assign(row.ns_per_token.size(), 1300);
  EXPECT_NEAR(claims_of(rows).groups[0].slow_share, 1.0 / 3, 1e-12);
  for (TimingRow& row : rows) row.probe_ns.assign(row.ns_per_token.size(), 1300);
  EXPECT_EQ(claims_of(rows).groups[0].slow_share, 0) << "then it is the usual state";
  rows[0].probe_ns.assign(rows[0].probe_ns.size(), 1000);
  EXPECT_NEAR(claims_of(rows).groups[0].slow_share, 2.0 / 9, 1e-12) << "of that contestant";
  for (TimingRow& row : rows) row.probe_ns.clear();
  EXPECT_EQ(claims_of(rows).groups[0].slow_share, 0) << "not probed";
}

// The kernel is as fast as the baseline, and slower beside a neighbour.
TEST(Claims, ANeighbourThatHitsOneContestantMoreMakesNoClaim) {
  const auto outcome = [](std::int64_t slow_of_ten, bool probed, std::int64_t rounds = 200) {
    std::mt19937_64 random(seed);
    std::vector<TimingRow> rows = make_run(random, rounds, 1, std::vector<double>(10, 1));
    for (TimingRow& row : rows) {
      for (std::size_t i = 0; i < row.ns_per_token.size(); ++i) {
        const bool slow = static_cast<std::int64_t>(i) * 7 % 10 < slow_of_ten;
        row.probe_ns.push_back(slow ? 1400 : 1000);
        if (slow) row.ns_per_token[i] *= row.role == Role::kernel ? 1.5 : 1.3;
      }
      if (!probed) row.probe_ns.clear();
    }
    return claim_on(claims_of(rows), "other").outcome;
  };
  EXPECT_EQ(outcome(0, true), Outcome::same);
  EXPECT_EQ(outcome(6, false), Outcome::slower) << "the control: nothing tells the states apart";
  EXPECT_EQ(outcome(6, true), Outcome::same) << "80 rounds of each launch are quiet";
  EXPECT_EQ(outcome(9, true), Outcome::same) << "20 are";
  EXPECT_EQ(outcome(9, true, 100), Outcome::unresolved) << "10 are too few, but they tell another";
  EXPECT_EQ(outcome(10, true), Outcome::slower) << "the usual state of this machine";
}

TEST(Claims, TheSameKernelTwiceIsNotCalledDifferent) {
  std::mt19937_64 random(seed);
  int different = 0, same = 0;
  double furthest = 0;
  for (int i = 0; i < 400; ++i) {
    const auto rows = make_run(random, 60, 1, {1, 1, 1, 1, 1});
    const Claims claims = claims_of(rows);
    const Claim& claim = claim_on(claims, "other");
    different += claim.outcome == Outcome::faster || claim.outcome == Outcome::slower;
    same += claim.outcome == Outcome::same;
    furthest = std::max(furthest, std::abs(claim.interval.ratio - 1));
  }
  EXPECT_LE(different, 20);
  EXPECT_GT(same, 300);
  EXPECT_LT(furthest, 0.01);
}

TEST(Claims, LaunchesThatDisagreeSettleNothing) {
  std::mt19937_64 random(seed);
  const auto disagree = make_run(random, 40, 1, {0.96, 1.05, 0.95});
  const Claims claims = claims_of(disagree);
  const Claim& claim = claim_on(claims, "other");
  EXPECT_EQ(claim.outcome, Outcome::unresolved);
  EXPECT_TRUE(claim.interval.is_of_launches);
  EXPECT_TRUE(why_open(claim, claims.groups[0]).starts_with("launches differ by 1"))
      << why_open(claim, claims.groups[0]);
  // The rounds alone would have claimed something about two launches that pull the same way.
  const auto pulled = make_run(random, 40, 1, {0.95, 0.95, 1.01});
  const Claims two_of_three = claims_of(pulled);
  EXPECT_EQ(claim_on(two_of_three, "other").outcome, Outcome::unresolved);
  EXPECT_TRUE(is_open(two_of_three.groups[0]));
}

TEST(Claims, OfFewerThanThreeLaunchesSayNothing) {
  std::mt19937_64 random(seed);
  const auto two = make_run(random, 100, 2, {1, 1});
  const Claims claims = claims_of(two);
  const Claim& claim = claim_on(claims, "other");
  EXPECT_EQ(claim.outcome, Outcome::unresolved);
  EXPECT_EQ(why_open(claim, claims.groups[0]), "2 of at least 3 launches");
  const auto three = make_run(random, 100, 2, {1, 1, 1});
  EXPECT_EQ(claim_on(claims_of(three), "other").outcome, Outcome::slower);
}

TEST(Claims, AnUnresolvedOneSaysWhatItNeeds) {
  std::mt19937_64 random(seed);
  const auto rows = make_run(random, 20, 1.015);
  const Claims claims = claims_of(rows);
  const Claim& claim = claim_on(claims, "other");
  ASSERT_EQ(claim.outcome, Outcome::unresolved);
  EXPECT_GT(claim.times_needed, 1);
  EXPECT_TRUE(why_open(claim, claims.groups[0]).starts_with("too noisy: needs "));
  EXPECT_TRUE(is_open(claims.groups[0]));
  const auto few = make_run(random, 1, 1.3);
  const Claims too_few = claims_of(few);
  EXPECT_EQ(why_open(claim_on(too_few, "other"), too_few.groups[0]), "too few rounds");
}

TEST(Claims, TellTimesWithoutPowersOfTen) {
  const std::pair<double, const char*> times[] = {
      {1e-5, "less than 1 ms"}, {0.034, "about 0.03 s"}, {9.4, "about 9 s"},
      {9.7, "about 10 s"},      {99.4, "about 99 s"},    {99.7, "about 2 min"},
      {5969, "about 99 min"},   {5990, "about 2 h"},     {89'999, "about 25 h"},
      {1e9, "more than a day"}};
  for (const auto& [s, text] : times) EXPECT_EQ(time_text(s), text);
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 20, 1.0);
  for (TimingRow& row : rows)
    if (row.kernel == "other" && row.launch == 1)
      for (double& ns : row.ns_per_token) ns *= 3;
  const Claims claims = claims_of(rows);
  const std::string why = why_open(claim_on(claims, "other"), claims.groups[0]);
  EXPECT_TRUE(why.starts_with("launches differ by 20")) << why;  // not 2e+02 %
}

TEST(Claims, OneThatLiesAtTheMarginHoldsNoGroupOpen) {
  std::mt19937_64 random(seed);
  const auto rows = make_run(random, 1500, 1.01);
  const Claims claims = claims_of(rows);
  const Claim& claim = claim_on(claims, "other");
  ASSERT_EQ(claim.outcome, Outcome::unresolved);
  EXPECT_TRUE(why_open(claim, claims.groups[0]).starts_with("the difference is about 1"));
  EXPECT_FALSE(is_open(claims.groups[0]));
}

TEST(Claims, FasterAndSlowerMeanByMoreThanTheMargin) {
  std::mt19937_64 random(seed);
  const auto rows = make_run(random, 400, 1.03);
  const auto outcome = [&](double margin) {
    return claim_on(claims_of(rows, margin), "other").outcome;
  };
  EXPECT_EQ(outcome(0.01), Outcome::slower);
  EXPECT_EQ(outcome(0.05), Outcome::same);
  EXPECT_EQ(outcome(0.03), Outcome::unresolved);
}

TEST(Claims, ATwinThatDiffersMakesTheRunInvalid) {
  std::mt19937_64 random(seed);
  const auto good = make_run(random, 40, 1.3);
  const Claims valid = claims_of(good);
  EXPECT_TRUE(valid.valid);
  const auto bad = make_run(random, 40, 1.3, {1, 1, 1, 1, 1}, 1.03);
  const Claims invalid = claims_of(bad);
  EXPECT_FALSE(invalid.valid);
  EXPECT_NE(invalid.invalid_because.find("twin of plain"), std::string::npos);
  EXPECT_GT(invalid.noise_floor, 0.02);
}

TEST(Claims, TheTwinWidensTheMargin) {
  std::mt19937_64 random(seed);
  const auto rows = make_run(random, 40, 1.003, {1, 1, 1}, 1.004);
  const Claims claims = claims_of(rows, 0.001);
  EXPECT_TRUE(claims.valid);
  const double twin = std::abs(claim_on(claims, "plain (twin)").interval.ratio - 1);
  ASSERT_GT(twin, 0.001);
  EXPECT_EQ(claims.groups[0].margin, twin);
  EXPECT_EQ(claims.groups[0].asked_margin, 0.001);
  EXPECT_GT(claims.groups[0].noise_floor, twin);
}

TEST(Claims, FasterThanTheCeilingIsNotBelieved) {
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 40, 0.5);
  for (std::int64_t launch = 0; launch < 3; ++launch)
    rows.push_back(row_of("ceiling_update", Role::ceiling, launch,
                          make_rounds(random, 40, 1, {0.01, 0, 0, 0}).a));
  const Claims claims = claims_of(rows);
  const Claim& claim = claim_on(claims, "other");
  EXPECT_EQ(claim.outcome, Outcome::implausible);
  EXPECT_FALSE(claim.has_speed);
  EXPECT_EQ(claim.ns_per_token, 0);
  EXPECT_EQ(claim.interval.rounds, 0);
  // Control: at the ceiling itself nothing is implausible.
  EXPECT_NE(claim_on(claims, "plain").outcome, Outcome::implausible);
  EXPECT_NEAR(claim_on(claims, "plain").of_ceiling.ratio, 1, 0.1);
  // The fastest loop of the rounds is the ceiling.
  for (std::int64_t launch = 0; launch < 3; ++launch)
    rows.push_back(row_of("ceiling_b", Role::ceiling, launch,
                          make_rounds(random, 40, 0.45, {0.01, 0, 0, 0}).b));
  EXPECT_EQ(claim_on(claims_of(rows), "other").outcome, Outcome::faster);
}

TEST(Claims, WhatFusesIsComparedWithItsOwnPasses) {
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 40, 0.5);
  for (TimingRow& row : rows)
    if (row.role == Role::baseline) row.kernel = "other (unfused)";
  const Claims claims = claims_of(rows);
  EXPECT_NEAR(claim_on(claims, "other").of_unfused.ratio, 0.5, 0.01);
  EXPECT_NE(unfused_text(claim_on(claims, "other")).find(" × unfused [0."), std::string::npos);
}

// After its numbers are removed, the other contestants are compared as strictly as before.
TEST(Claims, AnImplausibleOneStillSharesTheError) {
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 40, 1.3, {1});
  rows.push_back(row_of("magic", Role::kernel, 0, std::vector<double>(40, 1)));
  const std::int64_t before = claims_of(rows).groups[0].comparisons;
  rows.back().outcome = Outcome::implausible;
  rows.back().ns_per_token.clear();
  rows.back().ns_per_token_median = 0;
  EXPECT_EQ(claims_of(rows).groups[0].comparisons, before);
}

TEST(Claims, WithoutATwinNothingIsSaid) {
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 60, 1.3, {1});
  std::erase_if(rows, [](const TimingRow& row) { return row.is_twin(); });
  const Claims claims = claims_of(rows);
  for (const Claim& claim : claims.groups[0].claims)
    if (claim.role == Role::kernel) {
      EXPECT_EQ(claim.outcome, Outcome::unresolved) << claim.kernel;
    }
}

TEST(Claims, BrokenOnceIsBroken) {
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 40, 1.3);
  TimingRow& last = rows.back();
  last.outcome = Outcome::broken;
  last.reason = "crashed";
  last.ns_per_token.clear();
  last.iterations.clear();
  last.ns_per_token_median = 0;
  const Claims claims = claims_of(rows);
  const Claim& claim = claim_on(claims, "other");
  EXPECT_EQ(claim.outcome, Outcome::broken);
  EXPECT_EQ(claim.reason, "crashed");
  EXPECT_FALSE(claim.has_speed);
  EXPECT_TRUE(claim.launch_ratios.empty());
}

TEST(Claims, ManyComparisonsShareTheError) {
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 40, 1.3, {1, 1, 1});
  const Claims one = claims_of(rows);
  for (int i = 0; i < 9; ++i)
    rows.push_back(
        row_of("more_" + std::to_string(i), Role::kernel, 0, make_rounds(random, 40, 1.1).b));
  const Claims ten = claims_of(rows);
  EXPECT_EQ(one.groups[0].comparisons, 1);
  EXPECT_EQ(ten.groups[0].comparisons, 10);
  EXPECT_GE(claim_on(one, "other").interval.coverage, 0.95);
  EXPECT_GE(claim_on(ten, "other").interval.coverage, 0.995);
}

TEST(Claims, UnlikeWorkIsNotCompared) {
  std::mt19937_64 random(seed);
  auto rows = make_run(random, 40, 1.3, {1});
  rows.push_back(row_of("computing", Role::kernel, 0, make_rounds(random, 40, 1.1).b));
  rows.back().board = "half_split / f32 / in place / computed";
  const Claims claims = claims_of(rows);
  ASSERT_EQ(claims.groups.size(), 2u);
  EXPECT_EQ(claims.groups[1].claims[0].outcome, Outcome::measured);
  EXPECT_TRUE(claims.groups[1].claims[0].has_speed);
  EXPECT_EQ(claims.groups[1].claims[0].interval.rounds, 0);
}

// Each board's is 10 and 30 ns. Control: where the bytes differ, each has its own.
TEST(Ceilings, BoardsThatMoveTheSameBytesHaveOne) {
  for (const std::int64_t bytes : {40960, 40964}) {
    std::vector<TimingRow> rows = {row_of("ceiling_update", Role::ceiling, 0, {10, 10, 10}),
                                   row_of("ceiling_update", Role::ceiling, 0, {30, 30, 30})};
    rows[1].board = "half_split / f32 / in place / computed";
    rows[1].bytes = bytes;
    const Claims claims = claims_of(rows);
    ASSERT_EQ(claims.groups.size(), 2u);
    const double apart = bytes == rows[0].bytes ? 0 : 20;
    EXPECT_NEAR(claims.groups[1].claims[0].ns_per_token - claims.groups[0].claims[0].ns_per_token,
                apart, 1e-9);
  }
}

}  // namespace
}  // namespace ropewalk::report
