#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/testing/toys.h"

#include <gtest/gtest.h>

#include <set>

namespace ropewalk::bench {
namespace {

Workload toy(WorkloadLayout layout) {
  Workload w;
  set_heads(w, {3, 20, 8}, {2, 16, 0});
  w.rotary_dim = 8, w.batch = 2, w.tokens = 5;
  w.layout = layout;
  lay_out(w);
  return w;
}

// No element belongs to two heads, of one tensor or, in a shared buffer, of two.
TEST(WorkloadLayout, HeadsDoNotOverlap) {
  for (const WorkloadLayout layout : layouts) {
    const Workload w = toy(layout);
    const rope_problem p = make_problem(w, {}, ROPE_ANGLES_TABLE, Operation::forward);
    std::set<std::pair<std::size_t, std::int64_t>> taken;
    for (const std::size_t i : {0u, 1u}) {
      const rope_tensor& s = p.tensor[i];
      const std::size_t buffer = layout == WorkloadLayout::fused ? 0 : i;
      for (std::int64_t b = 0; b < w.batch; ++b)
        for (std::int64_t t = 0; t < w.tokens; ++t)
          for (std::int64_t h = 0; h < s.heads; ++h)
            for (std::int64_t e = 0; e < s.head_dim; ++e) {
              const std::int64_t at = w.tensors[i].in_at + b * s.in_batch_stride +
                                      t * s.in_token_stride + h * s.in_head_stride + e;
              EXPECT_TRUE(taken.emplace(buffer, at).second);
            }
    }
  }
}

TEST(WorkloadLayout, OnlyAFusedKMayBeginUnaligned) {
  for (const WorkloadLayout layout : layouts)
    EXPECT_EQ(begins_aligned(toy(layout)), layout != WorkloadLayout::fused);
  Workload w = toy(WorkloadLayout::fused);
  w.tensors[0].heads = 4;  // 320 bytes
  lay_out(w);
  EXPECT_TRUE(begins_aligned(w));
}

}  // namespace
}  // namespace ropewalk::bench
