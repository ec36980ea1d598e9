#include "benchmarks/engine/workload_data.h"
#include "benchmarks/testing/toys.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ropewalk::bench {
namespace {

// Like DeepSeek-V3, but small: the last 4 of a query head's 10 elements, and one shared key of 4.
Workload latent() {
  Workload w;
  w.name = "latent";
  set_heads(w, {3, 10, 6}, {1, 4, 0});
  w.rotary_dim = 4;
  w.batch = 2;
  w.tokens = 5;
  return w;
}

TEST(WorkloadData, CeilingsTouchTheWindowAlone) {
  const Workload w = latent();
  WorkloadData data(w, 7);
  data.refill();
  const auto spans = data.spans();
  const rope_operands o = data.operands(true);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].in, static_cast<const float*>(o.tensor[0].in) + 6);
  EXPECT_EQ(spans[0].out, spans[0].in);
  EXPECT_EQ(spans[0].rows, 30);
  EXPECT_EQ(spans[0].row_elements, 4);
  EXPECT_EQ(spans[0].row_stride, 10);
  EXPECT_EQ(spans[1].in, o.tensor[1].in);
  EXPECT_EQ(spans[1].rows, 10);
  EXPECT_EQ(spans[1].row_stride, 4);
  for (const CeilingVariant& variant : update_variants(Dtype::f32)) {
    data.refill();
    std::vector<float> before(300), after(300);
    std::memcpy(before.data(), o.tensor[0].in, 1200);
    for (const CeilingSpan& span : spans) variant.pass(span);
    std::memcpy(after.data(), o.tensor[0].in, 1200);
    for (std::size_t i = 0; i < 300; ++i)
      ASSERT_EQ(after[i], i % 10 < 6 ? before[i] : -before[i]) << variant.name << " " << i;
  }
}

TEST(WorkloadData, OutOfPlaceMovesWholeRows) {
  Workload w = latent();
  set_in_place(w, false);
  const WorkloadData data(w, 7);
  const rope_operands o = data.operands(false);
  EXPECT_EQ(data.spans()[0].in, o.tensor[0].in);
  EXPECT_EQ(data.spans()[0].out, o.tensor[0].out);
  EXPECT_NE(o.tensor[0].in, o.tensor[0].out);
  EXPECT_EQ(data.spans()[0].row_elements, 10);
}

// Whatever the layout: an update touches each element of each window once, and no other.
TEST(WorkloadData, CeilingsTouchTheWindowAloneInEveryLayout) {
  for (const WorkloadLayout layout : {WorkloadLayout::packed, WorkloadLayout::head_major,
                                      WorkloadLayout::fused, WorkloadLayout::padded}) {
    Workload w = latent();
    w.layout = layout;
    lay_out(w);
    WorkloadData data(w, 7);
    data.refill();
    for (const CeilingSpan& span : data.spans()) update_variants(Dtype::f32)[0].pass(span);
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const harness::TensorCase& t = w.tensors[i];
      for (std::int64_t row = 0; row < w.batch * w.tokens * t.heads; ++row) {
        const std::int64_t at = data.row(i, row / t.heads, row % t.heads);
        const float* before = reinterpret_cast<const float*>(data.input(i)) + at;
        const float* after = reinterpret_cast<const float*>(data.output(i)) + at;
        for (std::int64_t e = 0; e < t.head_dim; ++e) {
          const bool inside = e >= t.rotary_offset && e < t.rotary_offset + w.rotary_dim;
          ASSERT_EQ(after[e], inside ? -before[e] : before[e]) << row << " " << e;
        }
      }
    }
  }
}

TEST(WorkloadData, WidePositionsAreTheNarrowOnes) {
  Workload w = latent();
  w.position_dtype = Dtype::i64;
  w.scattered = w.cold = true;
  WorkloadData data(w, 7);
  for (int call = 0; call < 3; ++call) {
    const std::int32_t* narrow = data.next_positions();
    const auto* wide = static_cast<const std::int64_t*>(data.handed(narrow));
    for (std::int64_t i = 0; i < w.batch * w.tokens; ++i) EXPECT_EQ(wide[i], narrow[i]);
  }
}

TEST(WorkloadData, WhatAKernelOnlyReadsCannotBeWritten) {
  Workload w = latent();
  set_in_place(w, false);
  WorkloadData data(w, 7);
  data.refresh(8);
  const rope_operands o = data.operands(true);
  const auto write = [](const void* place) {
    *static_cast<volatile char*>(const_cast<void*>(place)) = 1;
  };
  EXPECT_DEATH(write(o.tensor[0].cos), "");
  EXPECT_DEATH(write(o.tensor[1].sin), "");
  EXPECT_DEATH(write(o.positions), "");
  EXPECT_DEATH(write(o.tensor[0].in), "");
  write(o.tensor[0].out);
}

TEST(WorkloadData, ADisturbedInputDiffersInOneElement) {
  for (const bool in_place : {true, false}) {
    Workload w = latent();
    set_in_place(w, in_place);
    WorkloadData data(w, 7);
    data.refill();
    const std::size_t floats[2] = {2 * 5 * 30, 2 * 5 * 4};
    std::vector<float> before[2];
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const auto* in = reinterpret_cast<const float*>(data.input(i));
      before[i].assign(in, in + floats[i]);
    }
    std::uint64_t random = 3;
    const std::int64_t token = data.disturb(random);
    int changed = 0;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
      for (std::size_t k = 0; k < floats[i]; ++k) {
        const float now = reinterpret_cast<const float*>(data.input(i))[k];
        if (now == before[i][k]) continue;
        ++changed;
        EXPECT_EQ(static_cast<std::int64_t>(k / (floats[i] / 10)), token);
        EXPECT_EQ(now, -before[i][k]);
        EXPECT_EQ(reinterpret_cast<const float*>(data.output(i))[k] == now, in_place);
      }
    EXPECT_EQ(changed, 1);
  }
}

TEST(WorkloadData, TheProblemHasTheWindowsAndStridesOfBothTensors) {
  const std::vector<double> inv_freq(2, 1.0);
  const rope_problem p = make_problem(latent(), inv_freq, ROPE_ANGLES_TABLE, Operation::forward);
  EXPECT_EQ(p.tensor[0].rotary_offset, 6);
  EXPECT_EQ(p.tensor[0].in_token_stride, 30);
  EXPECT_EQ(p.tensor[0].out_batch_stride, 150);
  EXPECT_EQ(p.tensor[1].head_dim, 4);
  EXPECT_EQ(p.tensor[1].rotary_offset, 0);
  EXPECT_EQ(p.tensor[1].in_batch_stride, 20);
}

TEST(LazyData, WhatNeedsMoreMemoryThanThereIsSaysSo) {
  Workload w = latent();
  w.tensors[0].heads = 1 << 20;
  w.tensors[0].head_dim = 1 << 16;
  LazyData data(w, 1);
  const std::string why = data.refusal();
  EXPECT_NE(why.find(" MiB of memory, "), std::string::npos) << why;
  EXPECT_NE(why.find(" MiB are left "), std::string::npos) << why;
}

}  // namespace
}  // namespace ropewalk::bench
