#include "benchmarks/engine/recheck.h"

#include <gtest/gtest.h>

#include <cstring>

#include "benchmarks/engine/cells.h"
#include "benchmarks/testing/toys.h"

namespace ropewalk::bench {
namespace {

/// One call of `apply` on fresh data, and what the judge says of it.
std::string judged(const Workload& w,
                   std::int32_t (*apply)(const rope_problem*, const rope_operands*, void*)) {
  rope_kernel kernel = toy_kernel("toy");
  kernel.apply = apply;
  WorkloadData data(w, 1);
  data.refresh(7);
  data.poison();
  const rope_problem problem =
      make_problem(w, data.inv_freq(false), ROPE_ANGLES_TABLE, Operation::forward);
  const rope_operands operands = data.operands(true);
  EXPECT_EQ(kernel.apply(&problem, &operands, nullptr), ROPE_OK);
  Oracle oracle;
  return recheck(kernel, w, data, {data.positions()}, oracle, 3);
}

Workload placed(bool in_place) {
  Workload w = small_workload("toy/a");
  w.in_place = in_place;
  return w;
}

TEST(Recheck, WhatIsRotatedHolds) {
  for (const bool in_place : {true, false})
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
      Workload w = placed(in_place);
      w.pairing = pairing;
      EXPECT_EQ(judged(w, apply_toy), "");
    }
}

TEST(Recheck, WhatIsNotRotatedIsSeen) {
  const auto nothing = [](const rope_problem*, const rope_operands*, void*) -> std::int32_t {
    return ROPE_OK;
  };
  const auto no_tail = [](const rope_problem* p, const rope_operands* o, void*) {
    return rotate_toy(p, o, p->tokens - 1);
  };
  const auto backwards = [](const rope_problem* p, const rope_operands* o, void*) {
    rope_problem seen = *p;
    seen.operation = ROPE_TRANSPOSE;
    return rotate_toy(&seen, o, p->tokens);
  };
  const auto twice = [](const rope_problem* p, const rope_operands* o, void*) {
    rope_operands second = *o;
    for (auto& tensor : second.tensor) tensor.in = tensor.out;
    rotate_toy(p, o, p->tokens);
    return rotate_toy(p, &second, p->tokens);
  };
  for (const bool in_place : {true, false}) {
    EXPECT_NE(judged(placed(in_place), nothing).find("is not rotated"), std::string::npos);
    EXPECT_NE(judged(placed(in_place), no_tail).find("position 2"), std::string::npos);
    EXPECT_NE(judged(placed(in_place), backwards), "");
    EXPECT_NE(judged(placed(in_place), twice), "");
  }
}

TEST(Recheck, BackAndNothingAreTold) {
  Workload w = placed(false);
  WorkloadData data(w, 1);
  Oracle oracle;
  const rope_kernel kernel = toy_kernel("toy");
  for (const int turns : {1, 0, -1}) {
    const rope_problem problem =
        make_problem(w, data.inv_freq(false), ROPE_ANGLES_TABLE,
                     turns < 0 ? Operation::transpose : Operation::forward);
    const rope_operands operands = data.operands(true);
    if (turns == 0)
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
        std::memcpy(operands.tensor[i].out, operands.tensor[i].in, 2 * 3 * 8 * (i == 0 ? 8 : 4));
    else
      kernel.apply(&problem, &operands, nullptr);
    for (const int expected : {1, 0, -1}) {
      const std::string wrong = recheck(kernel, w, data, {data.positions(), expected}, oracle, 3);
      EXPECT_EQ(wrong.empty(), expected == turns) << expected << " and " << turns << ": " << wrong;
    }
  }
}

TEST(Recheck, TheWindowAloneMayChange) {
  Workload w = placed(true);
  w.tensors = {{{2, 16, 4}, {1, 16, 8}}};
  EXPECT_EQ(judged(w, apply_toy), "");
  const auto spills = [](const rope_problem* p, const rope_operands* o, void*) {
    static_cast<float*>(o->tensor[1].out)[15 + 16 * 5] = 3;
    static_cast<float*>(o->tensor[1].out)[0] = 3;
    return rotate_toy(p, o, p->tokens);
  };
  EXPECT_NE(judged(w, spills).find("outside the window"), std::string::npos);
}

TEST(Recheck, TheEndsOfALargeOneAreAlwaysJudged) {
  Workload w = placed(true);
  w.batch = 1;
  w.tokens = 100'000;  // 2.4 million elements
  EXPECT_EQ(judged(w, apply_toy), "");
  const auto no_tail = [](const rope_problem* p, const rope_operands* o, void*) {
    return rotate_toy(p, o, p->tokens - 1);
  };
  EXPECT_NE(judged(w, no_tail).find("position 99999"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk::bench
