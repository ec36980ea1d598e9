#include "benchmarks/cells/recheck.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>

#include "benchmarks/cells/cells.h"
#include "benchmarks/testing/filled.h"
#include "benchmarks/testing/toys.h"

namespace ropewalk::bench {
namespace {

using Rows = Expected::Rows;

/// The data of a workload, a toy's calls on them, and what is said of what these left.
struct Judged : Filled {
  using Filled::Filled;
  void call(Apply apply, Operation operation = Operation::forward) {
    harness::ProblemNodes nodes;
    const rope_problem problem =
        make_problem(w, data.inv_freq(false), ROPE_ANGLES_TABLE, operation, &nodes);
    const rope_operands operands = data.operands(true);
    EXPECT_EQ(apply(&problem, &operands, nullptr), ROPE_OK);
  }
  std::string fault(const Expected& expected) {
    return recheck(kernel, w, data, expected, oracle, 3);
  }

  rope_kernel kernel = toy_kernel("toy");
  Oracle oracle;
};

/// What one call is judged by.
struct Rule {
  std::uint64_t calls = 1;  ///< it has the bound of so many
  Rows rows = Rows::exactly;
  double error_bound = 0;
  std::uint32_t flags = 0;
};
std::string fault_of(const Workload& w, Apply apply, const Rule& rule = {}) {
  Judged judged(w);
  judged.kernel.error_bound = rule.error_bound;
  judged.kernel.flags |= rule.flags;
  judged.call(apply);
  return judged.fault({rule.rows, {{judged.data.positions()}, rule.calls}, {}});
}

struct Fault {
  const char* name;
  Apply apply;
  const char* why = "";
};
void expect_seen(const Workload& w, std::initializer_list<Fault> faults) {
  EXPECT_EQ(fault_of(w, apply_toy), "");
  for (const Fault& fault : faults) {
    const std::string told = fault_of(w, fault.apply);
    EXPECT_FALSE(told.empty()) << fault.name;
    EXPECT_NE(told.find(fault.why), std::string::npos) << fault.name << ": " << told;
  }
}

constexpr auto backwards = [](ToyCall& c) { c.problem.operation = ROPE_TRANSPOSE; };
constexpr auto without_scale = [](ToyCall& c) { c.problem.attention_scale = 1; };
constexpr auto off_by_4_u = [](ToyCall& c) { c.problem.attention_scale = 1 + 0x1p-22; };
constexpr auto off_by_8_u_of_f64 = [](ToyCall& c) { c.problem.attention_scale = 1 + 0x1p-50; };
constexpr auto of_narrow_positions = [](ToyCall& c) { c.problem.position_dtype = ROPE_I32; };
constexpr auto as_if_packed = [](ToyCall& c) {
  for (rope_tensor& t : c.problem.tensor) {
    t.in_head_stride = t.out_head_stride = t.head_dim;
    t.in_token_stride = t.out_token_stride = t.heads * t.head_dim;
    t.in_batch_stride = t.out_batch_stride = c.problem.tokens * t.in_token_stride;
  }
};
std::int32_t twice(const rope_problem* p, const rope_operands* o, void*) {
  apply_toy(p, o, nullptr);
  ToyCall again(p, o);
  for (auto& tensor : again.operands.tensor) tensor.in = tensor.out;
  return again.make();
}
/// Writes an element of a tensor too.
template <int tensor, int at>
std::int32_t spill(const rope_problem* p, const rope_operands* o, void*) {
  apply_toy(p, o, nullptr);
  static_cast<float*>(o->tensor[tensor].out)[at] = 3;
  return ROPE_OK;
}
std::int32_t without_head_5_of_64(const rope_problem* p, const rope_operands* o, void*) {
  apply_toy(p, o, nullptr);
  for (int t = 0; t < p->tokens; ++t) static_cast<float*>(o->tensor[0].out)[(t * 64 + 5) * 8] = 3;
  return ROPE_OK;
}

TEST(Recheck, WhatIsNotRotatedIsSeen) {
  for (const bool in_place : {true, false})
    for (const Dtype dtype : tensor_dtypes)
      for (const Pairing pairing : {Pairing::half_split, Pairing::interleaved}) {
        Workload w = placed(in_place, dtype);
        w.pairing = pairing;
        expect_seen(w, {{"nothing", do_nothing, "the exact rotation"},
                        {"no tail", apply_toy<1>, "position 2"},
                        {"backwards", apply_changed<backwards>},
                        {"twice", twice}});
      }
}

TEST(Recheck, TheBoundIsOfTheTypeTheScaleAndTheCalls) {
  const Workload w = placed(false);
  Workload scaled = w;
  scaled.attention_scale = 1.5;
  expect_seen(w, {{"off by 4 u", apply_changed<off_by_4_u>, "the exact rotation"}});
  expect_seen(scaled, {{"without scale", apply_changed<without_scale>, "the exact rotation"}});
  expect_seen(placed(false, Dtype::f64),
              {{"off by 8 u of f64", apply_changed<off_by_8_u_of_f64>, "the exact rotation"}});
  EXPECT_EQ(fault_of(w, apply_changed<off_by_4_u>, {.calls = 3}), "") << "many calls have more";
  EXPECT_NE(fault_of(w, do_nothing, {.calls = 3}), "");
}

TEST(Recheck, EveryLayoutAndPositionTypeHolds) {
  for (const WorkloadLayout layout : layouts)
    for (const Dtype positions : {Dtype::i32, Dtype::i64})
      for (const bool in_place : {true, false}) {
        Workload w = placed(in_place);
        w.layout = layout;
        lay_out(w);
        w.position_dtype = positions;
        expect_seen(w, {});
        EXPECT_EQ(fault_of(w, apply_changed<of_narrow_positions>) == "", positions == Dtype::i32);
        // Packed data end inside the buffers of every layout.
        EXPECT_EQ(fault_of(w, apply_changed<as_if_packed>) == "", layout == WorkloadLayout::packed);
      }
}

TEST(Recheck, TheWindowAloneMayChange) {
  Workload w = placed(true);
  set_heads(w, {2, 16, 4}, {1, 16, 8});
  expect_seen(w, {{"before the window", spill<1, 0>, "an element outside the window"},
                  {"behind the window", spill<0, 15>, "an element outside the window"}});
  w.tensors[1].rotate = false;
  expect_seen(w, {{"first of K", spill<1, 0>, "a row that is not rotated"},
                  {"last of K", spill<1, 15 + 16 * 5>, "a row that is not rotated"}});
}

TEST(Recheck, LargeOnesAreJudgedAtTheirEndsAndByChance) {
  Workload w = placed(true);
  w.batch = 1;
  w.tokens = 100'000;  // 2.4 million elements
  expect_seen(w, {{"no tail", apply_toy<1>, "position 99999"}});
  w = placed(false);
  set_heads(w, {64, 8, 0}, {32, 8, 0});
  w.batch = 1;
  w.tokens = 200;  // 19,200 heads, of which no sample of a thousand misses one in 96
  lay_out(w);
  expect_seen(w, {{"without head 5", without_head_5_of_64, "head 5"}});
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
  EXPECT_EQ(fault_of(w, by_column), "");
  EXPECT_NE(fault_of(w, apply_toy).find("token 15"), std::string::npos);
  const KernelPlan plan = plan_of(toy_kernel("toy"), w);
  EXPECT_TRUE(!plan.supported && plan.refused.ends_with("(ROPE_EXT_AXES)")) << plan.refused;
}

TEST(Recheck, ANormAndACacheAreJudged) {
  Workload w = placed(false);
  set_heads(w, {2, 12, 2}, {2, 8});
  take_norm(w);
  take_append(w);
  lay_out(w);
  constexpr auto epsilon = [](ToyCall& c) { c.asked.norm.epsilon = 1e-4; };
  constexpr auto weight = [](ToyCall& c) { c.given.norm.weight[1] = nullptr; };
  constexpr auto caches = [](ToyCall& c) {
    std::swap(c.given.append.cache[1], c.given.append.cache[2]);
  };
  expect_seen(w, {{"epsilon", apply_changed<epsilon>, "normalized value: q[batch 0, token 0"},
                  {"weight", apply_changed<weight>, ": k[batch 0, token 0"},
                  {"caches", apply_changed<caches>, ": k[batch 0, token 0"}});
}

// The toy rounds what it has weighted. Rounded before the weight, other neighbours are right.
TEST(Recheck, TheRoundingThatAKernelDeclaresIsHeldTo) {
  Workload w = placed(false, Dtype::bf16);
  take_norm(w);
  EXPECT_EQ(fault_of(w, apply_toy, {.flags = ROPE_ROUNDS_WEIGHTED}), "");
  EXPECT_NE(fault_of(w, apply_toy, {.flags = ROPE_ROUNDS_NORM}).find("the normalized head"),
            std::string::npos);
}

// In place a call takes what the one before left. The positions move on between.
TEST(Recheck, TheCallsThatTurnAreTold) {
  for (const int turns : {0, 1, 2, 3}) {
    Judged judged(placed(true));
    for (int call = 0; call < turns; ++call) {
      judged.data.moving().move_on();
      judged.call(apply_toy);
    }
    Expected expected;
    expected.all.calls = 3;
    for (const int told : {0, 1, 2, 3}) {
      const std::string wrong = judged.fault(expected);
      EXPECT_EQ(wrong.empty(), told == turns) << told << " and " << turns << ": " << wrong;
      expected.all.by.push_back(judged.data.positions(told));
    }
  }
}

// What was rounded on the way may have been coarser than the result.
TEST(Recheck, FewCallsOfSixteenBitsHold) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    Workload w = placed(true, dtype);
    w.tokens = 2000;
    lay_out(w);
    Judged judged(w);
    for (std::uint64_t call = 0; call < 5; ++call) {
      const bool forward = call % 2 == 0;
      if (forward) judged.data.moving().move_on();
      judged.call(apply_toy, forward ? Operation::forward : Operation::transpose);
      Expected expected{Rows::exactly, {{}, call + 1}, {}};
      if (forward) expected.all.by.push_back(judged.data.positions());
      EXPECT_EQ(judged.fault(expected), "") << call;
      expected.all.by.push_back(judged.data.positions());
      EXPECT_NE(judged.fault(expected), "") << call << ", the control";
    }
  }
}

// After many calls of 16 bits.
TEST(Recheck, WhatDriftedIsHeldToItsLength) {
  static float factor;
  const auto scaled = [](const rope_problem* p, const rope_operands* o, void*) {
    apply_toy(p, o, nullptr);
    auto* const k = static_cast<Bf16*>(o->tensor[1].out);
    for (int i = 0; i < p->batch * p->tokens * 8; ++i) k[i] = Bf16{factor * float{k[i]}};
    return std::int32_t{ROPE_OK};
  };
  const Rule drifted{.calls = 1000, .rows = Rows::by_length};
  Workload w = placed(true, Dtype::bf16), few = w;
  w.tokens = 256;  // 2,048 pairs of K
  for (const auto& [times, told] : {std::pair(1.0f, ""),
                                    {1.03f, "the length of k is another"},
                                    {0.0f, "no rotation gives"},
                                    {NAN, "no rotation gives"}}) {
    factor = times;
    const std::string wrong = fault_of(w, scaled, drifted);
    EXPECT_EQ(wrong.empty(), times == 1) << wrong;
    EXPECT_NE(wrong.find(told), std::string::npos) << wrong;
    EXPECT_EQ(fault_of(w, scaled, {1000, Rows::by_length, 16}), "") << "a declared error may grow";
  }
  factor = 1.03f;
  EXPECT_EQ(fault_of(few, scaled, drifted), "") << "chance may do so to few pairs";
}

// NaN is a right rotation of NaN, and zeros are a right rotation of zeros.
TEST(Recheck, InputsWithNothingToRotateAreSeen) {
  for (const Rows rows : {Rows::exactly, Rows::by_length})
    for (const int left : {0x00, 0xff, 0x7f, -1}) {  // zeros, NaN, 3e38, the input itself
      Judged judged(placed(true));
      const rope_operands operands = judged.data.operands(true);
      for (const int tensor : {0, 1})
        if (left >= 0)
          std::memset(operands.tensor[tensor].out, left, 2 * 3 * 8 * (tensor == 0 ? 8 : 4));
      const std::string wrong = judged.fault({rows, {}, {}});
      EXPECT_EQ(wrong.empty(), left < 0) << left << " " << wrong;
    }
}

}  // namespace
}  // namespace ropewalk::bench
