#include "benchmarks/cells/recheck.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "benchmarks/cells/cells.h"
#include "benchmarks/testing/toys.h"

namespace ropewalk::bench {
namespace {

using Rows = Expected::Rows;

/// Makes one call of `apply` on fresh data and returns the judge's answer, with the bound of
/// `calls` calls.
std::string judged(const Workload& w,
                   std::int32_t (*apply)(const rope_problem*, const rope_operands*, void*),
                   std::uint64_t calls = 1, bool drifted = false, double error_bound = 0,
                   std::uint32_t flags = 0) {
  rope_kernel kernel = toy_kernel("toy");
  kernel.flags |= flags;
  kernel.apply = apply;
  kernel.error_bound = error_bound;
  WorkloadData data(w, 1);
  data.refresh(7);
  data.refill();
  harness::ProblemNodes nodes;
  const rope_problem problem =
      make_problem(w, data.inv_freq(false), ROPE_ANGLES_TABLE, Operation::forward, &nodes);
  const rope_operands operands = data.operands(true);
  EXPECT_EQ(kernel.apply(&problem, &operands, nullptr), ROPE_OK);
  Oracle oracle;
  return recheck(kernel, w, data,
                 {drifted ? Rows::by_length : Rows::exactly, {{data.positions()}, calls}, {}},
                 oracle, 3);
}

std::int32_t rest(const rope_problem*, const rope_operands*, void*) {
  return ROPE_OK;
}
/// The toy on data of any type, but for so many tokens at the end of each batch row.
template <int left_out>
std::int32_t turn_typed(const rope_problem* p, const rope_operands* o, void*) {
  return with_floating_type(Dtype{p->tensor[0].in_dtype}, [&]<class T>(std::type_identity<T>) {
    return rotate_toy<T>(p, o, p->tokens - left_out);
  });
}
constexpr auto right = turn_typed<0>, no_tail = turn_typed<1>;

/// The toy, with each output times a factor.
std::int32_t turn_scaled(const rope_problem* p, const rope_operands* o, float factor) {
  return rotate_toy(p, o, p->tokens, [&](float x) { return factor * x; });
}

TEST(Recheck, WhatIsRotatedHolds) {
  for (const bool in_place : {true, false})
    for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
      Workload w = placed(in_place);
      w.pairing = pairing;
      EXPECT_EQ(judged(w, apply_toy), "");
    }
}

TEST(Recheck, EachPairIsJudgedAtItsAxis) {
  Workload w = placed(true);
  harness::take_axes(w, std::vector<std::uint8_t>(std::size_t(w.rotary_dim) / 2, 2));
  w.tokens = 40;  // 14 of text, then rows of eight patches, of which the first turns as text
  lay_out(w);
  const auto by_column = [](const rope_problem* p, const rope_operands* o, void* state) {
    rope_operands third = *o;
    third.positions =
        static_cast<const std::int32_t*>(o->positions) + 2 * axes_of(*p)->position_axis_stride;
    return apply_toy(p, &third, state);
  };
  EXPECT_EQ(judged(w, by_column), "");
  EXPECT_NE(judged(w, apply_toy).find("token 15"), std::string::npos);
  const KernelPlan plan = plan_of(toy_kernel("toy"), w);
  EXPECT_TRUE(!plan.supported && plan.refused.ends_with("(ROPE_EXT_AXES)")) << plan.refused;
}

// Calls the toy with nodes that change(of the problem, of the operands) has changed.
template <auto change>
std::int32_t apply_changed(const rope_problem* p, const rope_operands* o, void*) {
  harness::ProblemNodes of{{}, *norm_of(*p), *append_of(*p)};
  harness::OperandNodes at{*norm_of(*o), *append_of(*o)};
  change(of, at);
  rope_problem problem = *p;
  rope_operands operands = *o;
  problem.next = of.chain();
  operands.next = at.chain();
  return apply_toy(&problem, &operands, nullptr);
}

TEST(Recheck, ANormAndACacheAreJudged) {
  using harness::OperandNodes, harness::ProblemNodes;
  Workload w = placed(false);
  set_heads(w, {2, 12, 2}, {2, 8});
  take_norm(w);
  take_append(w);
  lay_out(w);
  const auto why = [&](auto* apply) { return judged(w, apply); };
  constexpr auto epsilon = [](ProblemNodes& of, OperandNodes&) { of.norm.epsilon = 1e-4; };
  constexpr auto weight = [](ProblemNodes&, OperandNodes& at) { at.norm.weight[1] = nullptr; };
  constexpr auto caches = [](ProblemNodes&, OperandNodes& at) {
    std::swap(at.append.cache[1], at.append.cache[2]);
  };
  EXPECT_EQ(why(apply_toy), "");
  EXPECT_NE(why(apply_changed<epsilon>).find("normalized value: q[batch 0, token 0"),
            std::string::npos);
  EXPECT_NE(why(apply_changed<weight>).find(": k[batch 0, token 0"), std::string::npos);
  EXPECT_NE(why(apply_changed<caches>).find(": k[batch 0, token 0"), std::string::npos);
}

// The toy rounds what it has weighted. Rounded before the weight, other neighbours are right.
TEST(Recheck, TheRoundingThatAKernelDeclaresIsHeldTo) {
  Workload w = placed(false, Dtype::bf16);
  take_norm(w);
  const auto why = [&](std::uint32_t flags) { return judged(w, right, 1, false, 0, flags); };
  EXPECT_EQ(why(ROPE_ROUNDS_WEIGHTED), "");
  EXPECT_NE(why(ROPE_ROUNDS_NORM).find("the normalized head"), std::string::npos);
}

TEST(Recheck, WhatIsNotRotatedIsSeen) {
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
    EXPECT_NE(judged(placed(in_place), rest).find("the exact rotation"), std::string::npos);
    EXPECT_NE(judged(placed(in_place), no_tail).find("position 2"), std::string::npos);
    EXPECT_NE(judged(placed(in_place), backwards), "");
    EXPECT_NE(judged(placed(in_place), twice), "");
  }
}

// In place a call takes what the one before left. The positions move on between.
TEST(Recheck, TheCallsThatTurnAreTold) {
  const Workload w = placed(true);
  WorkloadData data(w, 1);
  Oracle oracle;
  const rope_kernel kernel = toy_kernel("toy");
  const rope_problem problem =
      make_problem(w, data.inv_freq(false), ROPE_ANGLES_TABLE, Operation::forward);
  const rope_operands operands = data.operands(true);
  for (const int turns : {0, 1, 2, 3}) {
    data.refill();
    for (int call = 0; call < turns; ++call) {
      data.moving().move_on();
      kernel.apply(&problem, &operands, nullptr);
    }
    Expected expected;
    expected.all.calls = 3;
    for (const int told : {0, 1, 2, 3}) {
      const std::string wrong = recheck(kernel, w, data, expected, oracle, 3);
      EXPECT_EQ(wrong.empty(), told == turns) << told << " and " << turns << ": " << wrong;
      expected.all.by.push_back(data.positions(told));
    }
  }
}

TEST(Recheck, SixteenBitsAreJudgedToo) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16})
    for (const bool in_place : {true, false}) {
      const Workload w = placed(in_place, dtype);
      EXPECT_EQ(judged(w, right), "");
      EXPECT_NE(judged(w, no_tail).find("position 2"), std::string::npos);
    }
}

// What was rounded on the way may have been coarser than the result.
TEST(Recheck, FewCallsOfSixteenBitsHold) {
  const rope_kernel kernel = toy_kernel("toy");
  Oracle oracle;
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    Workload w = placed(true, dtype);
    w.tokens = 2000;
    lay_out(w);
    WorkloadData data(w, 1);
    data.refill();
    const rope_operands operands = data.operands(true);
    Expected expected;
    for (std::uint64_t call = 0; call < 5; ++call) {
      const rope_problem problem =
          make_problem(w, data.inv_freq(false), ROPE_ANGLES_TABLE,
                       call % 2 == 0 ? Operation::forward : Operation::transpose);
      if (call % 2 == 0) data.moving().move_on();
      right(&problem, &operands, nullptr);
      expected.all.calls = call + 1;
      expected.all.by.clear();
      if (call % 2 == 0) expected.all.by.push_back(data.positions());
      EXPECT_EQ(recheck(kernel, w, data, expected, oracle, 3), "") << call;
      expected.all.by.push_back(data.positions());
      EXPECT_NE(recheck(kernel, w, data, expected, oracle, 3), "") << call << ", the control";
    }
  }
}

// After many calls of 16 bits.
TEST(Recheck, WhatDriftedIsHeldToItsLength) {
  static float factor;
  const auto scaled = [](const rope_problem* p, const rope_operands* o, void*) {
    rotate_toy<Bf16>(p, o, p->tokens);
    auto* const k = static_cast<Bf16*>(o->tensor[1].out);
    for (int i = 0; i < p->batch * p->tokens * 8; ++i) k[i] = Bf16{factor * float{k[i]}};
    return std::int32_t{ROPE_OK};
  };
  Workload w = placed(true, Dtype::bf16), few = w;
  w.tokens = 256;  // 2,048 pairs of K
  for (const auto& [times, told] : {std::pair(1.0f, ""),
                                    {1.03f, "the length of k is another"},
                                    {0.0f, "no rotation gives"},
                                    {NAN, "no rotation gives"}}) {
    factor = times;
    const std::string wrong = judged(w, scaled, 1000, true);
    EXPECT_EQ(wrong.empty(), times == 1) << wrong;
    EXPECT_NE(wrong.find(told), std::string::npos) << wrong;
    EXPECT_EQ(judged(w, scaled, 1000, true, 16), "") << "a declared error may grow";
  }
  factor = 1.03f;
  EXPECT_EQ(judged(few, scaled, 1000, true), "") << "chance may do so to few pairs";
}

TEST(Recheck, TheWindowAloneMayChange) {
  Workload w = placed(true);
  set_heads(w, {2, 16, 4}, {1, 16, 8});
  EXPECT_EQ(judged(w, apply_toy), "");
  const auto spills = [](const rope_problem* p, const rope_operands* o, void*) {
    static_cast<float*>(o->tensor[1].out)[15 + 16 * 5] = 3;
    static_cast<float*>(o->tensor[1].out)[0] = 3;
    return rotate_toy(p, o, p->tokens);
  };
  EXPECT_NE(judged(w, spills).find("an element outside the window"), std::string::npos);
  w.tensors[1].rotate = false;
  EXPECT_NE(judged(w, spills).find("a row that is not rotated"), std::string::npos);
}

TEST(Recheck, TheEndsOfALargeOneAreAlwaysJudged) {
  Workload w = placed(true);
  w.batch = 1;
  w.tokens = 100'000;  // 2.4 million elements
  EXPECT_EQ(judged(w, apply_toy), "");
  EXPECT_NE(judged(w, no_tail).find("position 99999"), std::string::npos);
}

TEST(Recheck, OneHeadInNinetySixIsMissedByNoSampleOfAThousand) {
  Workload w = placed(false);
  set_heads(w, {64, 8, 0}, {32, 8, 0});
  w.batch = 1;
  w.tokens = 200;  // 19,200 heads
  lay_out(w);
  EXPECT_EQ(judged(w, apply_toy), "");
  const auto leaves_out = [](const rope_problem* p, const rope_operands* o, void*) {
    const std::int32_t status = rotate_toy(p, o, p->tokens);
    for (int t = 0; t < p->tokens; ++t) static_cast<float*>(o->tensor[0].out)[(t * 64 + 5) * 8] = 3;
    return status;
  };
  EXPECT_NE(judged(w, leaves_out).find("head 5"), std::string::npos);
}

TEST(Recheck, OneCallHasTheBoundOfOneAndManyHaveMore) {
  const auto off_by_4_u = [](const rope_problem* p, const rope_operands* o, void*) {
    return turn_scaled(p, o, 1 + 0x1p-22f);
  };
  const Workload w = placed(false);
  EXPECT_NE(judged(w, off_by_4_u).find("the exact rotation"), std::string::npos);
  EXPECT_EQ(judged(w, off_by_4_u, 3), "");
  EXPECT_NE(judged(w, rest, 3), "");
}

TEST(Recheck, EveryLayoutAndPositionTypeHolds) {
  const auto packed = [](const rope_problem* p, const rope_operands* o, void*) {
    rope_problem seen = *p;  // reads and writes as if each tensor were contiguous
    for (rope_tensor& t : seen.tensor) {
      t.in_head_stride = t.out_head_stride = t.head_dim;
      t.in_token_stride = t.out_token_stride = t.heads * t.head_dim;
      t.in_batch_stride = t.out_batch_stride = p->tokens * t.in_token_stride;
    }
    return rotate_toy(&seen, o, p->tokens);
  };
  const auto narrow = [](const rope_problem* p, const rope_operands* o, void*) {
    rope_problem seen = *p;
    seen.position_dtype = ROPE_I32;
    return rotate_toy(&seen, o, p->tokens);
  };
  for (const WorkloadLayout layout : layouts)
    for (const Dtype positions : {Dtype::i32, Dtype::i64})
      for (const bool in_place : {true, false}) {
        Workload w = placed(in_place);
        w.layout = layout;
        lay_out(w);
        w.position_dtype = positions;
        EXPECT_EQ(judged(w, apply_toy), "");
        EXPECT_EQ(judged(w, narrow) == "", positions == Dtype::i32);
        // Packed data end inside the buffers of every layout.
        EXPECT_EQ(judged(w, packed) == "", layout == WorkloadLayout::packed);
      }
}

TEST(Recheck, AScaleIsJudged) {
  const auto scaled = [](const rope_problem* p, const rope_operands* o, void*) {
    return turn_scaled(p, o, static_cast<float>(p->attention_scale));
  };
  Workload w = placed(false);
  w.attention_scale = 1.5;
  EXPECT_EQ(judged(w, scaled), "");
  EXPECT_NE(judged(w, apply_toy).find("the exact rotation"), std::string::npos);
}

TEST(Recheck, F64HasItsOwnBound) {
  const Workload w = placed(false, Dtype::f64);
  const auto off_by_8_u = [](const rope_problem* p, const rope_operands* o, void*) {
    return rotate_toy<double>(p, o, p->tokens, [](double x) { return x * (1 + 0x1p-50); });
  };
  EXPECT_EQ(judged(w, right), "");
  EXPECT_NE(judged(w, off_by_8_u).find("the exact rotation"), std::string::npos);
}

// NaN is a right rotation of NaN, and zeros are a right rotation of zeros.
TEST(Recheck, InputsWithNothingToRotateAreSeen) {
  const Workload w = placed(true);
  const rope_kernel kernel = toy_kernel("toy");
  Oracle oracle;
  for (const bool drifted : {false, true})
    for (const int left : {0x00, 0xff, 0x7f, -1}) {  // zeros, NaN, 3e38, the input itself
      WorkloadData data(w, 1);
      data.refill();
      const rope_operands operands = data.operands(true);
      for (const int tensor : {0, 1})
        if (left >= 0)
          std::memset(operands.tensor[tensor].out, left, 2 * 3 * 8 * (tensor == 0 ? 8 : 4));
      const std::string wrong =
          recheck(kernel, w, data, {drifted ? Rows::by_length : Rows::exactly, {}, {}}, oracle, 3);
      EXPECT_EQ(wrong.empty(), left < 0) << left << " " << wrong;
    }
}

}  // namespace
}  // namespace ropewalk::bench
