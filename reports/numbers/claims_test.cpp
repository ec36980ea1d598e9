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
    rows.push_back(timing_of("plain", Role::baseline, l, kernel.a));
    rows.push_back(timing_of("plain (twin)", Role::null_twin, l, twin.b));
    rows.push_back(timing_of("other", Role::kernel, l, kernel.b));
  }
  return rows;
}

/// Rows, and the claims on them, which refer to the rows.
struct Judged {
  explicit Judged(std::vector<TimingRow> timings, double margin = usual_margin)
      : rows(std::move(timings)), claims(claims_of(rows, margin)), group(claims.groups.at(0)) {}
  Judged(const Judged&) = delete;
  const Claim& on(std::string_view kernel) const {
    for (const Claim& claim : group.claims)
      if (claim.kernel == kernel) return claim;
    throw std::runtime_error("no claim on " + std::string(kernel));
  }
  Outcome outcome() const { return on("other").outcome; }
  std::string why() const { return why_open(on("other"), group); }
  const std::vector<TimingRow> rows;
  const Claims claims;
  const ClaimGroup& group;
};

struct ClaimsTest : testing::Test {
  std::mt19937_64 random{seed};
};

// A launch that lies wholly beside a neighbour is slow by what the others tell.
TEST_F(ClaimsTest, RoundsOfASlowerProcessorAreCountedOverAllLaunches) {
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
TEST_F(ClaimsTest, ANeighbourThatHitsOneContestantMoreMakesNoClaim) {
  const auto outcome = [&](std::int64_t slow_of_ten, bool probed, std::int64_t rounds = 200) {
    random.seed(seed);
    std::vector<TimingRow> rows = make_run(random, rounds, 1, std::vector<double>(10, 1));
    for (TimingRow& row : rows) {
      for (std::size_t i = 0; i < row.ns_per_token.size(); ++i) {
        const bool slow = static_cast<std::int64_t>(i) * 7 % 10 < slow_of_ten;
        row.probe_ns.push_back(slow ? 1400 : 1000);
        if (slow) row.ns_per_token[i] *= row.role == Role::kernel ? 1.5 : 1.3;
      }
      if (!probed) row.probe_ns.clear();
    }
    return Judged(rows).outcome();
  };
  EXPECT_EQ(outcome(0, true), Outcome::same);
  EXPECT_EQ(outcome(6, false), Outcome::slower) << "the control: nothing tells the states apart";
  EXPECT_EQ(outcome(6, true), Outcome::same) << "80 rounds of each launch are quiet";
  EXPECT_EQ(outcome(9, true), Outcome::same) << "20 are";
  EXPECT_EQ(outcome(9, true, 100), Outcome::unresolved) << "10 are too few, but they tell another";
  EXPECT_EQ(outcome(10, true), Outcome::slower) << "the usual state of this machine";
}

TEST_F(ClaimsTest, TheSameKernelTwiceIsNotCalledDifferent) {
  int different = 0, same = 0;
  double furthest = 0;
  for (int i = 0; i < 400; ++i) {
    const Judged run(make_run(random, 60, 1, {1, 1, 1, 1, 1}));
    different += run.outcome() == Outcome::faster || run.outcome() == Outcome::slower;
    same += run.outcome() == Outcome::same;
    furthest = std::max(furthest, std::abs(run.on("other").interval.ratio - 1));
  }
  EXPECT_LE(different, 20);
  EXPECT_GT(same, 300);
  EXPECT_LT(furthest, 0.01);
}

TEST_F(ClaimsTest, AnUnresolvedOneSaysWhatItNeeds) {
  const struct {
    std::int64_t rounds;
    double ratio;
    std::vector<double> offsets;
    const char* why;
    bool open = true;
  } rows[] = {{20, 1.015, {1, 1, 1}, "too noisy: needs "},
              {1, 1.3, {1, 1, 1}, "too few rounds"},
              {1500, 1.01, {1, 1, 1}, "the difference is about 1", false},
              {100, 2, {1, 1}, "2 of at least 3 launches"},
              {40, 1, {0.96, 1.05, 0.95}, "launches differ by 1"},
              // The rounds alone would have claimed something: two launches pull the same way.
              {40, 1, {0.95, 0.95, 1.01}, "launches differ by "}};
  for (const auto& [rounds, ratio, offsets, why, open] : rows) {
    const Judged run(make_run(random, rounds, ratio, offsets));
    EXPECT_EQ(run.outcome(), Outcome::unresolved) << why;
    EXPECT_TRUE(run.why().starts_with(why)) << why << " -> " << run.why();
    EXPECT_EQ(is_open(run.group), open) << why;
    EXPECT_EQ(run.on("other").interval.is_of_launches, offsets.size() == 3) << why;
    EXPECT_TRUE(run.on("other").times_needed > 1 || rounds != 20);
  }
  EXPECT_EQ(Judged(make_run(random, 100, 2)).outcome(), Outcome::slower) << "three launches";
}

TEST_F(ClaimsTest, TellTimesWithoutPowersOfTen) {
  const std::pair<double, const char*> times[] = {
      {1e-5, "less than 1 ms"}, {0.034, "about 0.03 s"}, {9.4, "about 9 s"},
      {9.7, "about 10 s"},      {99.4, "about 99 s"},    {99.7, "about 2 min"},
      {5969, "about 99 min"},   {5990, "about 2 h"},     {89'999, "about 25 h"},
      {1e9, "more than a day"}};
  for (const auto& [s, text] : times) EXPECT_EQ(time_text(s), text);
  auto rows = make_run(random, 20, 1.0);
  for (TimingRow& row : rows)
    if (row.kernel == "other" && row.launch == 1)
      for (double& ns : row.ns_per_token) ns *= 3;
  const std::string why = Judged(rows).why();
  EXPECT_TRUE(why.starts_with("launches differ by 20")) << why;  // not 2e+02 %
}

TEST_F(ClaimsTest, FasterAndSlowerMeanByMoreThanTheMargin) {
  const auto rows = make_run(random, 400, 1.03);
  EXPECT_EQ(Judged(rows, 0.01).outcome(), Outcome::slower);
  EXPECT_EQ(Judged(rows, 0.05).outcome(), Outcome::same);
  EXPECT_EQ(Judged(rows, 0.03).outcome(), Outcome::unresolved);
}

TEST_F(ClaimsTest, ATwinThatDiffersMakesTheRunInvalid) {
  EXPECT_TRUE(Judged(make_run(random, 40, 1.3)).claims.valid);
  const Judged bad(make_run(random, 40, 1.3, {1, 1, 1, 1, 1}, 1.03));
  EXPECT_FALSE(bad.claims.valid);
  EXPECT_TRUE(contains(bad.claims.invalid_because, "twin of plain"));
  EXPECT_GT(bad.claims.noise_floor, 0.02);
}

TEST_F(ClaimsTest, TheTwinWidensTheMargin) {
  const Judged run(make_run(random, 40, 1.003, {1, 1, 1}, 1.004), 0.001);
  EXPECT_TRUE(run.claims.valid);
  const double twin = std::abs(run.on("plain (twin)").interval.ratio - 1);
  ASSERT_GT(twin, 0.001);
  EXPECT_EQ(run.group.margin, twin);
  EXPECT_EQ(run.group.asked_margin, 0.001);
  EXPECT_GT(run.group.noise_floor, twin);
}

TEST_F(ClaimsTest, FasterThanTheCeilingIsNotBelieved) {
  auto rows = make_run(random, 40, 0.5);
  for (std::int64_t launch = 0; launch < 3; ++launch)
    rows.push_back(timing_of("ceiling_update", Role::ceiling, launch,
                             make_rounds(random, 40, 1, {0.01, 0, 0, 0}).a));
  const Judged run(rows);
  EXPECT_EQ(run.outcome(), Outcome::implausible);
  const Claim& other = run.on("other");
  EXPECT_TRUE(!other.has_speed && other.ns_per_token == 0 && other.interval.rounds == 0);
  // Control: at the ceiling itself nothing is implausible.
  EXPECT_NE(run.on("plain").outcome, Outcome::implausible);
  EXPECT_NEAR(run.on("plain").of_ceiling.ratio, 1, 0.1);
  // The fastest loop of the rounds is the ceiling.
  for (std::int64_t launch = 0; launch < 3; ++launch)
    rows.push_back(timing_of("ceiling_b", Role::ceiling, launch,
                             make_rounds(random, 40, 0.45, {0.01, 0, 0, 0}).b));
  EXPECT_EQ(Judged(rows).outcome(), Outcome::faster);
}

TEST_F(ClaimsTest, WhatFusesIsComparedWithItsOwnPasses) {
  auto rows = make_run(random, 40, 0.5);
  for (TimingRow& row : rows)
    if (row.role == Role::baseline) row.kernel = "other (unfused)";
  const Judged run(rows);
  EXPECT_NEAR(run.on("other").of_unfused.ratio, 0.5, 0.01);
  EXPECT_TRUE(contains(unfused_text(run.on("other")), " × unfused [0."));
}

// After its numbers are removed, the other contestants are compared as strictly as before.
TEST_F(ClaimsTest, AnImplausibleOneStillSharesTheError) {
  auto rows = make_run(random, 40, 1.3, {1});
  rows.push_back(timing_of("magic", Role::kernel, 0, std::vector<double>(40, 1)));
  const std::int64_t before = claims_of(rows).groups[0].comparisons;
  make_broken(rows.back());
  rows.back().outcome = Outcome::implausible;
  EXPECT_EQ(claims_of(rows).groups[0].comparisons, before);
}

TEST_F(ClaimsTest, WithoutATwinNothingIsSaid) {
  auto rows = make_run(random, 60, 1.3, {1});
  std::erase_if(rows, [](const TimingRow& row) { return row.is_twin(); });
  EXPECT_EQ(Judged(rows).outcome(), Outcome::unresolved);
}

TEST_F(ClaimsTest, BrokenOnceIsBroken) {
  auto rows = make_run(random, 40, 1.3);
  make_broken(rows.back());
  rows.back().reason = "crashed";
  const Judged run(rows);
  const Claim& claim = run.on("other");
  EXPECT_EQ(claim.outcome, Outcome::broken);
  EXPECT_EQ(claim.reason, "crashed");
  EXPECT_FALSE(claim.has_speed);
  EXPECT_TRUE(claim.launch_ratios.empty());
}

TEST_F(ClaimsTest, ManyComparisonsShareTheError) {
  auto rows = make_run(random, 40, 1.3);
  const Judged one(rows);
  for (int i = 0; i < 9; ++i)
    rows.push_back(
        timing_of("more_" + std::to_string(i), Role::kernel, 0, make_rounds(random, 40, 1.1).b));
  const Judged ten(rows);
  EXPECT_EQ(one.group.comparisons, 1);
  EXPECT_EQ(ten.group.comparisons, 10);
  EXPECT_GE(one.on("other").interval.coverage, 0.95);
  EXPECT_GE(ten.on("other").interval.coverage, 0.995);
}

TEST_F(ClaimsTest, UnlikeWorkIsNotCompared) {
  auto rows = make_run(random, 40, 1.3, {1});
  rows.push_back(timing_of("computing", Role::kernel, 0, make_rounds(random, 40, 1.1).b));
  rows.back().board = "half_split / f32 / in place / computed";
  const Judged run(rows);
  ASSERT_EQ(run.claims.groups.size(), 2u);
  const Claim& computing = run.claims.groups[1].claims[0];
  EXPECT_EQ(computing.outcome, Outcome::measured);
  EXPECT_TRUE(computing.has_speed && computing.interval.rounds == 0);
}

// Each board's is 10 and 30 ns. Control: where the bytes differ, each has its own.
TEST(Ceilings, BoardsThatMoveTheSameBytesHaveOne) {
  for (const std::int64_t bytes : {40960, 40964}) {
    std::vector<TimingRow> rows = {timing_of("ceiling_update", Role::ceiling, 0, {10, 10, 10}),
                                   timing_of("ceiling_update", Role::ceiling, 0, {30, 30, 30})};
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
