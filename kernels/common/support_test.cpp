// What the tree's kernels answer when tensors and tables have types of their own: one data type, or
// any.
#include "kernels/common/support.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ropewalk {
namespace {

rope_problem problem_of(const std::vector<std::int32_t>& tensors, std::int32_t table) {
  rope_problem p{};
  p.struct_size = sizeof p;
  p.abi_version = ROPE_ABI_VERSION;
  p.angle_source = ROPE_ANGLES_TABLE;
  p.table_dtype = table;
  for (const std::int32_t dtype : tensors) {
    rope_tensor& t = p.tensor[p.tensor_count++];
    t.in_dtype = t.out_dtype = dtype;
    t.heads = p.tensor_count;
  }
  return p;
}

std::string refusal(decltype(rope_kernel::supports) supports, const rope_problem& p) {
  const char* reason = "";
  return supports(&p, &reason) == ROPE_OK ? "" : reason;
}

TEST(SupportsTable, TakesOneTypeAndItsTable) {
  EXPECT_EQ(refusal(supports_table, problem_of({ROPE_F32, ROPE_F32}, ROPE_F32)), "");
  EXPECT_EQ(refusal(supports_table, problem_of({ROPE_F64, ROPE_F64}, ROPE_F64)), "");
  for (const std::int32_t other : {ROPE_F64, ROPE_F16, ROPE_BF16}) {
    EXPECT_EQ(refusal(supports_table, problem_of({ROPE_F32, other}, ROPE_F32)),
              "all tensors must have one data type");
    EXPECT_NE(refusal(supports_table, problem_of({other, ROPE_F32}, ROPE_F32)), "");
    EXPECT_EQ(refusal(supports_table, problem_of({ROPE_F32}, other)),
              "the table must be f64 for f64 data, else f32");
  }
}

TEST(SupportsAnyTypes, TakesEachFloatingPointType) {
  for (const std::int32_t first : {ROPE_F64, ROPE_F32, ROPE_F16, ROPE_BF16})
    for (const std::int32_t second : {ROPE_F64, ROPE_F32, ROPE_F16, ROPE_BF16})
      for (const std::int32_t table : {ROPE_F64, ROPE_F32, ROPE_F16, ROPE_BF16})
        EXPECT_EQ(refusal(supports_any_types, problem_of({first, second}, table)), "");
}

TEST(SupportsAnyTypes, RefusesWhatItCannotRead) {
  EXPECT_NE(refusal(supports_any_types, problem_of({ROPE_F32, ROPE_I32}, ROPE_F32)), "");
  EXPECT_NE(refusal(supports_any_types, problem_of({ROPE_F32}, ROPE_I64)), "");
  EXPECT_NE(refusal(supports_any_types, problem_of({ROPE_F32, 77}, ROPE_F32)), "");
  EXPECT_NE(refusal(supports_any_types, problem_of({ROPE_F32}, -1)), "");
  rope_problem p = problem_of({ROPE_F32, ROPE_F16}, ROPE_F32);
  p.tensor[1].out_dtype = ROPE_BF16;
  EXPECT_NE(refusal(supports_any_types, p), "") << "ABI 1 has one type in a tensor";
  p = problem_of({ROPE_F32}, ROPE_F32);
  p.angle_source = ROPE_ANGLES_INV_FREQ;
  EXPECT_NE(refusal(supports_any_types, p), "");
}

TEST(ForEachTensorAlone, ShowsEachWithItsOperands) {
  const rope_problem p = problem_of({ROPE_F32, ROPE_F16, ROPE_F64}, ROPE_F32);
  rope_operands o{};
  float data[3] = {};
  for (std::size_t i = 0; i < 3; ++i) o.tensor[i].in = &data[i];
  std::vector<std::int64_t> heads;
  std::vector<const void*> inputs;
  for_each_tensor_alone(p, o, [&](const rope_problem& one, const rope_operands& at) {
    EXPECT_EQ(one.tensor_count, 1u);
    heads.push_back(one.tensor[0].heads);
    inputs.push_back(at.tensor[0].in);
  });
  EXPECT_EQ(heads, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(inputs, (std::vector<const void*>{&data[0], &data[1], &data[2]}));
}

}  // namespace
}  // namespace ropewalk
