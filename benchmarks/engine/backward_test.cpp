// The backward pass has boards of its own.
#include <gtest/gtest.h>

#include "benchmarks/testing/paired_run.h"

namespace ropewalk::bench {
namespace {

using namespace report;

std::int32_t apply_forward(const rope_problem* p, const rope_operands* o, void*) {
  rope_problem forward = *p;
  forward.operation = ROPE_FORWARD;
  return rotate_toy(&forward, o, p->tokens);
}
std::int32_t takes_back_alone(const rope_problem* p, const char** reason) {
  return p->operation == ROPE_TRANSPOSE ? supports_toy(p, reason) : ROPE_UNSUPPORTED;
}

TEST(Paired, TheBackwardPassIsTimedOnABoardOfItsOwn) {
  const rope_kernel good = toy_kernel("good");
  rope_kernel bad = toy_kernel("bad"), alone = toy_kernel("alone");
  bad.apply = apply_forward;
  alone.supports = takes_back_alone;
  for (const bool in_place : {true, false}) {
    const PairedOutcome outcome = run({&good, &bad, &alone}, [&](PairedPlan& p) {
      p.workloads[0].operation = Operation::transpose;
      set_in_place(p.workloads[0], in_place);
      p.rounds = 20;
    });
    expect_broken(outcome, "bad", "the exact rotation");
    for (const char* kernel : {"good", "alone"}) {
      EXPECT_EQ(outcome.of(kernel)->outcome, Outcome::measured) << outcome.of(kernel)->reason;
      EXPECT_NE(outcome.of(kernel)->board.find("place / transpose / table"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace ropewalk::bench
