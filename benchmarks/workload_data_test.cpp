#include "benchmarks/workload_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ropewalk {
namespace {

// As DeepSeek-V3, small: the last 4 of a query head's 10 elements, one shared key of 4.
Workload latent() {
  Workload w;
  w.name = "latent";
  w.tensors = {{{3, 10, 6}, {1, 4, 0}}};
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
  for (const CeilingVariant& variant : update_variants(ROPE_F32)) {
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
  w.in_place = false;
  const WorkloadData data(w, 7);
  const rope_operands o = data.operands(false);
  EXPECT_EQ(data.spans()[0].in, o.tensor[0].in);
  EXPECT_EQ(data.spans()[0].out, o.tensor[0].out);
  EXPECT_NE(o.tensor[0].in, o.tensor[0].out);
  EXPECT_EQ(data.spans()[0].row_elements, 10);
}

TEST(WorkloadData, TheProblemHasTheWindowsAndStridesOfBothTensors) {
  const std::vector<double> inv_freq(2, 1.0);
  const rope_problem p = make_problem(latent(), inv_freq, ROPE_ANGLES_TABLE, ROPE_FORWARD);
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
  EXPECT_NE(why.find(" MiB are available"), std::string::npos) << why;
}

}  // namespace
}  // namespace ropewalk
