// A kernel that is slow at first is timed settled, and its row says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "benchmarks/testing/paired_run.h"

namespace ropewalk::bench {
namespace {

using namespace report;

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

TEST(Paired, ASlowStartIsToldAndNotTimed) {
  const rope_kernel good = toy_kernel("good");
  rope_kernel slow = toy_kernel("slow");
  slow.apply = apply_cold_start;
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

}  // namespace
}  // namespace ropewalk::bench
