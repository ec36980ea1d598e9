#include <gtest/gtest.h>

#include <cmath>

#include "benchmarks/workloads/workload_shape.h"
#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {
namespace {

Workload llama31() {
  Workload w;
  w.rotary_dim = w.tensors[0].head_dim = w.tensors[1].head_dim = 128;
  w.rope_theta = 500000;
  w.scaling = "llama3";
  w.scaling_values = {8, 1, 4, 8192};
  return w;
}

TEST(WorkloadShape, FaultsNameTheKey) {
  const auto with = [](auto change) {
    Workload changed = llama31();
    change(changed);
    const auto fault = shape_fault(changed);
    return fault ? fault->key : "none";
  };
  EXPECT_EQ(with([](Workload&) {}), "none");
  EXPECT_EQ(with([](Workload& x) { x.rotary_dim = 127; }), "rotary_dim");
  EXPECT_EQ(with([](Workload& x) { x.rotary_dim = 0; }), "rotary_dim");
  EXPECT_EQ(with([](Workload& x) { x.rotary_dim = 130; }), "rotary_dim");
  EXPECT_EQ(with([](Workload& x) { x.tensors[1].rotary_offset = 1; }), "k_rotary_offset");
  EXPECT_EQ(with([](Workload& x) { x.rope_theta = 0.5; }), "rope_theta");
  EXPECT_EQ(with([](Workload& x) { x.rope_theta = NAN; }), "rope_theta");
  EXPECT_EQ(with([](Workload& x) { x.scaling_values[0] = 0.5; }), "scaling_factor");
  EXPECT_EQ(with([](Workload& x) { x.scaling_values[0] = INFINITY; }), "scaling_factor");
  EXPECT_EQ(with([](Workload& x) { x.scaling_values[1] = 4.5; }), "low_freq_factor");
  EXPECT_EQ(with([](Workload& x) { x.scaling_values[1] = 0; }), "low_freq_factor");
  EXPECT_EQ(with([](Workload& x) { x.scaling_values[3] = 0; }), "original_positions");
  EXPECT_EQ(with([](Workload& x) { x.tokens = (std::int64_t{1} << 31) - 4095; }), "batch");
  EXPECT_EQ(with([](Workload& x) { x.tokens = (std::int64_t{1} << 31) - 4094; }), "tokens");
  EXPECT_EQ(with([](Workload& x) { x.tensors[0].heads = INT64_MAX; }), "batch");
  EXPECT_EQ(with([](Workload& x) { x.tensors[1].heads = 0; }), "q_heads");
  EXPECT_EQ(with([](Workload& x) { x.tensors[1].rotary_offset = -1; }), "q_heads");
  EXPECT_EQ(with([](Workload& x) { x.dtype = Dtype::i32; }), "dtype");
  EXPECT_EQ(with([](Workload& x) { x.scaling = "spiral"; }), "scaling");
  EXPECT_EQ(with([](Workload& x) { x.scaling = "linear"; }), "scaling");
  EXPECT_EQ(with([](Workload& x) { x.scaling_values.pop_back(); }), "scaling");
  EXPECT_EQ(with([](Workload& x) { x.scaling_values.clear(); }), "scaling");
}

}  // namespace
}  // namespace ropewalk::bench
