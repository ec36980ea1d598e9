#include "benchmarks/engine/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "benchmarks/testing/paired_run.h"

namespace ropewalk::bench {
namespace {

using namespace report;

using Orders = std::vector<std::vector<int>>;

/// How often each contestant stands in each place, or behind each other one: the different counts.
enum class Of { places, neighbours };
std::set<int> counts(const Orders& orders, int contestants, Of of) {
  std::map<std::pair<int, int>, int> times;
  for (int a = 0; a < contestants; ++a)
    for (int b = 0; b < contestants; ++b)
      if (of == Of::places || a != b) times[{a, b}] = 0;
  for (const auto& row : orders)
    for (std::size_t i = of == Of::places ? 0 : 1; i < row.size(); ++i)
      ++times[{row[i], of == Of::places ? static_cast<int>(i) : row[i - 1]}];
  std::set<int> out;
  for (const auto& [pair, count] : times) out.insert(count);
  return out;
}

Orders plain_rotation(int contestants) {
  Orders orders;
  for (int shift = 0; shift < contestants; ++shift) {
    orders.emplace_back();
    for (int i = 0; i < contestants; ++i) orders.back().push_back((i + shift) % contestants);
  }
  return orders;
}

TEST(Rounds, EachPairOfNeighboursOccursEquallyOften) {
  for (int n = 2; n <= 25; ++n) {
    const Orders design = williams_design(n);
    EXPECT_EQ(design.size(), static_cast<std::size_t>(n % 2 == 0 ? n : 2 * n));
    for (const auto& row : design)
      EXPECT_EQ(std::set<int>(row.begin(), row.end()).size(), static_cast<std::size_t>(n));
    for (const Of of : {Of::places, Of::neighbours})
      EXPECT_EQ(counts(design, n, of), (std::set<int>{n % 2 == 0 ? 1 : 2})) << n;
  }
}

TEST(Rounds, APlainRotationFailsTheSameCount) {
  for (int n = 3; n <= 10; ++n) {
    EXPECT_EQ(counts(plain_rotation(n), n, Of::places).size(), 1u) << "a Latin square";
    EXPECT_GT(counts(plain_rotation(n), n, Of::neighbours).size(), 1u) << n;
  }
  // For an odd number, one square alone is not balanced.
  Orders half = williams_design(7);
  for (std::size_t i = half.size(); i-- > 0;)
    if (i % 2 == 1) half.erase(half.begin() + static_cast<std::ptrdiff_t>(i));
  EXPECT_GT(counts(half, 7, Of::neighbours).size(), 1u);
}

TEST(Rounds, WholeDesignsShuffledBySeed) {
  for (const int n : {1, 2, 5, 6}) {
    const Orders orders = round_orders(n, 20, 7);
    EXPECT_GE(orders.size(), 20u);
    EXPECT_LT(orders.size(), 20u + static_cast<std::size_t>(2 * n));
    EXPECT_LE(counts(orders, n, Of::neighbours).size(), 1u);
    EXPECT_EQ(counts(orders, n, Of::places).size(), 1u);
    EXPECT_EQ(orders, round_orders(n, 20, 7));
  }
  EXPECT_NE(round_orders(6, 20, 7), round_orders(6, 20, 8));
  EXPECT_TRUE(round_orders(0, 20, 7).empty());
  EXPECT_TRUE(round_orders(3, 0, 7).empty());
  EXPECT_TRUE(williams_design(-1).empty());
}

// Is 20 times as slow at first: for some calls, or for as many epochs.
int slow_calls = 0, slow_epochs = 0;
std::int32_t apply_cold_start(const rope_problem* p, const rope_operands* o, void*) {
  for (int i = 0; (slow_calls > 0 || slow_epochs > 0) && i < 20; ++i) {
    rope_operands copy = *o;
    std::array<float, 2 * 3 * 2 * 8> scratch{};
    for (auto& tensor : copy.tensor) tensor.out = scratch.data();
    apply_toy(p, &copy, nullptr);
  }
  slow_calls = std::max(slow_calls - 1, 0);
  return apply_toy(p, o, nullptr);
}

TEST(Rounds, ASlowStartIsToldAndNotTimed) {
  const rope_kernel good = toy_kernel("good"), slow = toy_kernel("slow", apply_cold_start);
  for (const bool in_rounds : {false, true}) {
    slow_calls = in_rounds ? 0 : 60;
    slow_epochs = in_rounds ? 16 : 0;  // told before supports and prepare too
    const PairedOutcome outcome = run({&good, &slow}, [](PairedPlan& p) {
      p.rounds = 30;
      p.now_running = [](const std::string& label) {
        if (label == "slow|toy/a") slow_epochs = std::max(slow_epochs - 1, 0);
      };
    });
    const TimingRow& row = *outcome.of("slow");
    EXPECT_EQ(row.outcome, Outcome::measured) << row.reason;
    EXPECT_GE(row.slow_calls, 60);
    if (!in_rounds) {
      EXPECT_LE(row.slow_calls, 80);
    }
    EXPECT_GE(row.slow_times, 5);
    EXPECT_LT(row.ns_per_token_median, 3 * outcome.of("good")->ns_per_token_median);
    EXPECT_NE(words_beside(row).find("timed settled"), std::string::npos);
    EXPECT_EQ(outcome.of("good")->slow_calls, 0);
  }
}

// ---- groups whose time counts

int prepared = 0, breaks_at = 0;
std::int32_t prepare_counted(const rope_problem*, void**) {
  ++prepared;
  return ROPE_OK;
}
std::int32_t apply_breaking(const rope_problem* p, const rope_operands* o, void*) {
  return breaks_at > 0 && prepared >= breaks_at ? 7 : apply_toy(p, o, nullptr);
}

TEST(TimedGroups, ArePlacedAnewAndKeepAllRounds) {
  const rope_kernel good = toy_kernel("good");
  rope_kernel counted = toy_kernel("counted", apply_breaking);
  counted.prepare = prepare_counted;
  for (const bool breaks : {false, true}) {
    prepared = 0;
    breaks_at = breaks ? 3 : 0;
    const PairedOutcome outcome = run({&counted, &good}, [](PairedPlan& p) { p.launch_s = 1.6; });
    const TimingRow &row = *outcome.of("good"), &own = *outcome.of("counted");
    EXPECT_EQ(own.outcome, breaks ? Outcome::broken : Outcome::measured) << own.reason;
    EXPECT_EQ(row.outcome, Outcome::measured) << row.reason;
    EXPECT_GE(prepared, 3);
    EXPECT_GE(row.ns_per_token.size(), 6u);
    EXPECT_EQ(row.iterations.size(), row.ns_per_token.size());
    EXPECT_GE(row.epoch_us, 1e6 * usual_epoch_s);
    for (const TimingRow& each : outcome.rows)
      if (each.outcome == Outcome::measured) {
        EXPECT_EQ(each.ns_per_token.size(), row.ns_per_token.size()) << each.kernel;
      }
  }
}

TEST(TimedGroups, TheEpochsOfAnEarlierLaunchStay) {
  const rope_kernel good = toy_kernel("good");
  const PairedOutcome outcome = run({&good}, [](PairedPlan& p) {
    p.launch_s = 0.2;
    p.epochs_s["toy/a|half_split / f32 / in place / table|1"] = 5e-4;
  });
  EXPECT_DOUBLE_EQ(outcome.of("good")->epoch_us, 500);
}

TEST(EpochChoice, TakesALongerEpochOnlyIfItIsBetterByFar) {
  // A pair takes as long as its calls, of 1 us. Its noise falls with the root of that, or faster.
  const auto choose = [](double power) {
    int drawn = 0;
    return epoch_of_least_cost(1e-6, [&](std::int64_t calls) -> std::optional<TrialPair> {
      const auto us = static_cast<double>(calls);
      const double noise = std::pow(us / 250, -power) * (++drawn % 8 - 3.5);
      return TrialPair{std::exp(0.01 * noise), 2e-6 * us};
    });
  };
  EXPECT_DOUBLE_EQ(choose(0.5).value(), usual_epoch_s);
  EXPECT_DOUBLE_EQ(choose(2).value(), 4 * usual_epoch_s);
  int trials = 0;
  const auto refuses = [&](std::int64_t) -> std::optional<TrialPair> {
    return ++trials, std::nullopt;
  };
  EXPECT_FALSE(epoch_of_least_cost(1e-6, refuses).has_value());
  EXPECT_EQ(trials, 1);
  EXPECT_DOUBLE_EQ(epoch_of_least_cost(1e-3, refuses).value(), usual_epoch_s);
  EXPECT_EQ(trials, 1) << "a call that takes longer leaves no choice";
}

}  // namespace
}  // namespace ropewalk::bench
