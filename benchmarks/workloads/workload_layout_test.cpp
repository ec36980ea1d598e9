#include "benchmarks/workloads/workload_layout.h"

#include <gtest/gtest.h>

#include <set>

namespace ropewalk::bench {
namespace {

constexpr WorkloadLayout layouts[] = {WorkloadLayout::packed, WorkloadLayout::head_major,
                                      WorkloadLayout::fused, WorkloadLayout::padded};

Workload toy(WorkloadLayout layout) {
  Workload w;
  w.tensors = {{{3, 20, 8}, {2, 16, 0}}};
  w.rotary_dim = 8;
  w.batch = 2;
  w.tokens = 5;
  w.layout = layout;
  return w;
}

// No element belongs to two heads, of one tensor or, in a shared buffer, of two.
TEST(WorkloadLayout, HeadsDoNotOverlap) {
  for (const WorkloadLayout layout : layouts) {
    const Workload w = toy(layout);
    const auto places = tensor_places(w);
    std::set<std::pair<std::size_t, std::int64_t>> taken;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
      for (std::int64_t b = 0; b < w.batch; ++b)
        for (std::int64_t t = 0; t < w.tokens; ++t)
          for (std::int64_t h = 0; h < w.tensors[i].heads; ++h)
            for (std::int64_t e = 0; e < w.tensors[i].head_dim; ++e)
              EXPECT_TRUE(taken
                              .emplace(layout == WorkloadLayout::fused ? 0 : i,
                                       places[i].element(b, t, h) + e)
                              .second);
  }
}

TEST(WorkloadLayout, OnlyAFusedKMayBeginUnaligned) {
  for (const WorkloadLayout layout : layouts)
    EXPECT_EQ(begins_aligned(toy(layout)), layout != WorkloadLayout::fused);
  Workload w = toy(WorkloadLayout::fused);
  w.tensors[0].heads = 4;  // 320 bytes
  EXPECT_TRUE(begins_aligned(w));
}

}  // namespace
}  // namespace ropewalk::bench
