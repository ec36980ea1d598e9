// Small cases are compared whole; of large ones the ends and a seeded part.
#include "harness/judge/row_sample.h"

#include <gtest/gtest.h>

namespace ropewalk::harness {
namespace {

Case case_of(std::int64_t batch, std::int64_t tokens, std::int64_t heads) {
  Case c;
  c.batch = batch;
  c.tokens = tokens;
  c.tensors[0].heads = heads;
  c.tensors[0].head_dim = 128;
  return c;
}

std::int64_t taken(const RowSample& sample, const Case& c) {
  std::int64_t count = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t) count += sample.has(b, t) ? 1 : 0;
  return count;
}

TEST(RowSample, OfASmallCaseHasEveryRow) {
  const Case c = case_of(2, 128, 2);
  EXPECT_TRUE(RowSample::of(c).has_all());
  EXPECT_EQ(taken(RowSample::of(c), c), 256);
  EXPECT_TRUE(RowSample().has_all());
  EXPECT_TRUE(RowSample().has(1'000'000, 1'000'000));
}

TEST(RowSample, OfALargeCaseHasItsEndsAndAPart) {
  Case c = case_of(40, 1000, 32);
  const RowSample sample = RowSample::of(c);
  EXPECT_FALSE(sample.has_all());
  for (const std::int64_t b : {0, 1, 2, 3, 36, 37, 38, 39}) {
    EXPECT_TRUE(sample.has(b, 0));
    EXPECT_TRUE(sample.has(b, 999));
  }
  for (const std::int64_t t : {0, 1, 2, 3}) {
    EXPECT_TRUE(sample.has(0, t));
    EXPECT_TRUE(sample.has(39, 999 - t));
  }
  // 2^16 elements are 16 tokens here, beside 22 at the ends.
  EXPECT_GT(taken(sample, c), 22);
  EXPECT_LT(taken(sample, c), 80);
  // Another seed takes other tokens.
  c.seed = 2;
  const RowSample other = RowSample::of(c);
  std::int64_t both = 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t) both += sample.has(b, t) && other.has(b, t) ? 1 : 0;
  EXPECT_LT(both, taken(other, c));
}

}  // namespace
}  // namespace ropewalk::harness
