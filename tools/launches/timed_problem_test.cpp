// The gate verifies a workload by a case. What is timed is the problem of that case.
#include <gtest/gtest.h>

#include "benchmarks/testing/toys.h"
#include "benchmarks/workloads/workload_layout.h"
#include "harness/cases/problem.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
namespace {

TEST(TimedProblem, IsThatOfTheCheckedCase) {
  for (int layout = 0; layout < std::ssize(layout_words); ++layout)
    for (const bool in_place : {true, false}) {
      Workload w = load_default_workloads().front();
      set_heads(w, {3, 20, 8}, {2, 16, 0});
      w.rotary_dim = 8;
      w.batch = 2;
      w.tokens = 5;
      w.layout = static_cast<WorkloadLayout>(layout);
      set_in_place(w, in_place);
      w.position_dtype = Dtype::i64;
      w.attention_scale = in_place ? 1 : 1.5;
      lay_out(w);
      const Problem checked = make_question(case_of(w, w.tokens));
      const rope_problem timed =
          make_problem(w, checked.inv_freq, ROPE_ANGLES_TABLE, Operation::forward);
      const rope_problem& asked = checked.asked;
      EXPECT_EQ(timed.position_dtype, asked.position_dtype);
      EXPECT_EQ(timed.attention_scale, asked.attention_scale);
      EXPECT_EQ(timed.rotary_dim, asked.rotary_dim);
      for (const std::uint32_t i : {0u, 1u}) {
        const rope_tensor &a = timed.tensor[i], &b = asked.tensor[i];
        EXPECT_EQ(a.heads, b.heads);
        EXPECT_EQ(a.head_dim, b.head_dim);
        EXPECT_EQ(a.rotary_offset, b.rotary_offset);
        EXPECT_EQ(a.in_place, b.in_place);
        for (const auto stride : {&rope_tensor::in_batch_stride, &rope_tensor::in_token_stride,
                                  &rope_tensor::in_head_stride, &rope_tensor::out_batch_stride,
                                  &rope_tensor::out_token_stride, &rope_tensor::out_head_stride})
          EXPECT_EQ(a.*stride, b.*stride) << layout_words[static_cast<std::size_t>(layout)];
      }
    }
}

}  // namespace
}  // namespace ropewalk::tools
