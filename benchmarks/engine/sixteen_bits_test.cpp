// Toy kernels on bf16 data through the paired engine.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdint>

#include "benchmarks/testing/paired_run.h"

namespace ropewalk::bench {
using namespace report;
namespace {

// In place also after thousands of calls, each of which rounds.
TEST(Paired, SixteenBitsAreTimedAndWhatIsWrongWhileTimedIsBroken) {
  static std::atomic<int> made;
  const auto right = [](const rope_problem* p, const rope_operands* o, void*) {
    return rotate_toy<Bf16>(p, o, p->tokens);
  };
  const auto late = [](const rope_problem* p, const rope_operands* o, void*) {
    return rotate_toy<Bf16>(p, o, ++made > 8 ? 0 : p->tokens);
  };
  rope_kernel good = toy_kernel("good"), bad = toy_kernel("late");
  good.supports = bad.supports = supports_bf16;
  good.apply = right;
  bad.apply = late;
  for (const bool in_place : {true, false}) {
    made = 0;
    const PairedOutcome outcome = run({&good, &bad}, [&](PairedPlan& p) {
      p.workloads[0].dtype = Dtype::bf16;
      set_in_place(p.workloads[0], in_place);
    });
    ASSERT_NE(outcome.of("good"), nullptr);
    EXPECT_EQ(outcome.of("good")->outcome, Outcome::measured) << outcome.of("good")->reason;
    EXPECT_NE(outcome.of("good")->board.find("bf16"), std::string::npos);
    expect_broken(outcome, "late", "the exact rotation");
  }
}

// It shrinks to nothing in an epoch, and is right by what it declares.
TEST(Paired, ATruncatingKernelThatSaysSoIsTimed) {
  rope_kernel kernel = toy_kernel("truncates");
  kernel.supports = supports_bf16;
  kernel.error_bound = 16;
  kernel.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    return rotate_toy<Bf16>(p, o, p->tokens, [](float x) {
      return Bf16{std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u)};
    });
  };
  const PairedOutcome outcome =
      run({&kernel}, [](PairedPlan& p) { p.workloads[0].dtype = Dtype::bf16; });
  ASSERT_NE(outcome.of("truncates"), nullptr);
  EXPECT_EQ(outcome.of("truncates")->outcome, Outcome::measured) << outcome.of("truncates")->reason;
}

}  // namespace
}  // namespace ropewalk::bench
