#include "benchmarks/workloads/traffic.h"
#include "benchmarks/testing/toys.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace ropewalk::bench {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

Workload llama(std::int64_t batch, std::int64_t tokens) {
  Workload w;
  set_heads(w, {32, 128}, {8, 128});
  w.rotary_dim = 128, w.batch = batch, w.tokens = tokens;
  return w;
}

TEST(Traffic, LlamaOneTokenInPlace) {
  // 40 heads of 128 floats are 20480 bytes, read and written; a row of cos and of sin; a position.
  const Workload w = llama(1, 1);
  EXPECT_EQ(data_bytes_one_way(w), 20480);
  EXPECT_EQ(traffic_bytes(w, true), 20480 + 20480 + 2 * 64 * 4 + 4);
  EXPECT_EQ(traffic_bytes(w, false), 20480 + 20480 + 4);
  EXPECT_EQ(ceiling_traffic_bytes(w), 40960);
  EXPECT_EQ(working_set_bytes(w, true), 20480 + 512 + 4);
  EXPECT_EQ(ceiling_working_set_bytes(w), 20480);
}

TEST(Traffic, ANormReadsWeightsAndAnAppendReadsSlots) {
  Workload w = llama(2, 1);
  set_in_place(w, false);
  const std::int64_t plain = traffic_bytes(w, true), q_and_k = 2 * 20480, v = 2 * 8 * 128 * 4;
  ASSERT_EQ(plain, 2 * q_and_k + 2 * 2 * 64 * 4 + 2 * 4);
  take_norm(w);
  EXPECT_EQ(traffic_bytes(w, true), plain + 2 * 128 * 4);
  take_append(w);
  EXPECT_EQ(traffic_bytes(w, true), plain + 2 * 128 * 4 + 2 * v + 2 * 8);
  EXPECT_EQ(ceiling_traffic_bytes(w), 2 * (q_and_k + v));
  EXPECT_EQ(cache_bytes(w, w.tensors[2]), 2 * 2 * 16 * 8 * 128 * 4) << "two pages of 16 slots each";
}

TEST(Traffic, GptJOutOfPlaceMovesWholeRows) {
  Workload w;
  set_heads(w, {16, 256}, {16, 256});
  w.rotary_dim = 64, w.tokens = 512;
  set_in_place(w, false);
  // 512 tokens of 32 heads of 256 floats: 16 MiB each way; 32 cos and 32 sin a token.
  EXPECT_EQ(traffic_bytes(w, true), 2 * 16777216 + 512 * 256 + 512 * 4);
  EXPECT_EQ(working_set_bytes(w, true), 2 * 16777216 + 512 * 256 + 512 * 4);
  set_in_place(w, true);  // now only 64 of 256 are rotated
  EXPECT_EQ(traffic_bytes(w, false), 2 * 4194304 + 512 * 4);
  EXPECT_EQ(working_set_bytes(w, false), 4194304 + 512 * 4);
}

TEST(Traffic, TensorsOfDifferentWidth) {
  Workload w;  // DeepSeek-V3: 128 query heads of 192, one key head of 64, 64 of each rotated
  set_heads(w, {128, 192, 128}, {1, 64, 0});
  w.rotary_dim = 64, w.batch = 8;
  EXPECT_EQ(data_bytes_one_way(w), 8 * 129 * 64 * 4);
  EXPECT_EQ(allocated_bytes(w),
            2 * 8 * (128 * 192 + 64) * 4 + position_window * 64 * 4 + 2 * 8 * 4);
  set_in_place(w, false);
  EXPECT_EQ(data_bytes_one_way(w), 8 * (128 * 192 + 64) * 4);
  EXPECT_EQ(traffic_bytes(w, false), 2 * 8 * (128 * 192 + 64) * 4 + 8 * 4);
}

TEST(Traffic, TableRowsSharedByABatchCountOnceInTheWorkingSet) {
  Workload w = llama(8, 4);
  EXPECT_EQ(traffic_bytes(w, true) - traffic_bytes(w, false), 32 * 512);
  EXPECT_EQ(working_set_bytes(w, true) - working_set_bytes(w, false), 4 * 512);
  w.scattered = true;
  EXPECT_EQ(working_set_bytes(w, true) - working_set_bytes(w, false), 32 * 512);
  w.dtype = Dtype::f64;
  EXPECT_EQ(data_bytes_one_way(w), 32 * 40960);
  EXPECT_EQ(traffic_bytes(w, true), 2 * 32 * 40960 + 32 * 1024 + 32 * 4);
  EXPECT_EQ(allocated_bytes(w), 2 * 32 * 40960 + (8192 + position_window - 1) * 1024 + 2 * 32 * 4);
}

TEST(Traffic, WidePositionsAreReadAndGapsAreNot) {
  Workload w = llama(8, 4);
  const std::int64_t bytes = traffic_bytes(w, true), set = working_set_bytes(w, true),
                     held = allocated_bytes(w);
  w.position_dtype = Dtype::i64;
  EXPECT_EQ(traffic_bytes(w, true), bytes + 32 * 4);
  EXPECT_EQ(working_set_bytes(w, true), set + 32 * 4);
  EXPECT_EQ(allocated_bytes(w), held + 32 * 4);
  w.position_dtype = Dtype::i32;
  w.layout = WorkloadLayout::padded;
  EXPECT_EQ(traffic_bytes(w, true), bytes);
  EXPECT_GT(allocated_bytes(w), held);
  for (const WorkloadLayout gapless : {WorkloadLayout::fused, WorkloadLayout::head_major}) {
    w.layout = gapless;
    EXPECT_EQ(allocated_bytes(w), held);
  }
}

TEST(Traffic, StopsAtTheLargestNumber) {
  EXPECT_EQ(saturating_product({std::int64_t{1} << 32, std::int64_t{1} << 32}), largest);
  EXPECT_EQ(saturating_product({3, 5, 7}), 105);
  EXPECT_EQ(saturating_sum({largest, 1}), largest);
  EXPECT_EQ(saturating_sum({largest - 1, 1}), largest);
  Workload w = llama(largest, largest);
  w.tensors[0].heads = largest;
  EXPECT_EQ(traffic_bytes(w, true), largest);
  EXPECT_EQ(working_set_bytes(w, true), largest);
  EXPECT_EQ(allocated_bytes(w), largest);
  w.layout = WorkloadLayout::padded;
  EXPECT_EQ(allocated_bytes(w), largest);
}

}  // namespace
}  // namespace ropewalk::bench
