// The judge at the ends of the data types' ranges, and in types narrower and wider than f32.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "harness/judge/judged.h"

namespace ropewalk::harness {
namespace {

TEST(Judge, HugeAndTinyPairsAreComparedToo) {
  for (const char* values : {"1e200,1e200", "1e-200,2e-200", "1e-290,1e290", "1e-300,1e-300"}) {
    const std::string line = four_pairs + ("0.3,0.9,0.4,0.7," + std::string(values)) + ",0.2,0.6";
    Judged judged(line + " dtype=f64");
    EXPECT_TRUE(judged.finding().holds()) << values;
    const Value y = judged.got(2);
    for (const Value wrong : {Value{0, 0}, {-y.re, -y.im}, {y.re * (1 + 1e-12), y.im}}) {
      judged.put(2, wrong);
      EXPECT_FALSE(judged.finding().holds()) << values << " -> " << wrong.re;
    }
  }
  for (const char* values : {"1e37,1e37", "1e-30,1e-30"}) {
    Judged judged(four_pairs + ("0.3,0.9,0.4,0.7," + std::string(values)) + ",0.2,0.6");
    EXPECT_TRUE(judged.finding().holds()) << values;
    judged.put(2, {0, 0});
    EXPECT_FALSE(judged.finding().holds()) << values;
  }
}

TEST(Judge, NothingIsPromisedWhereProductsMayOverflow) {
  Judged judged(four_pairs + std::string("3e38,3e38,3e38,-3e38,-3e38,3e38,3e38,3e38"));
  EXPECT_EQ(judged.finding().compared, 0);
  EXPECT_FALSE(judged.finding().holds()) << "nothing was compared";
}

TEST(Judge, SubnormalsMayBeFlushedOnlyWhereDeclared) {
  const std::string line = four_pairs + std::string("1e-39,2e-39,0.3,0.4,0.1,0.2,0.6,0.8");
  Judged judged(line);
  EXPECT_TRUE(judged.finding().holds());
  judged.put(0, {0, 0});
  EXPECT_FALSE(judged.finding().holds());
  judged.facts.flags |= ROPE_FLUSHES_SUBNORMALS;
  EXPECT_TRUE(judged.finding().holds());
}

TEST(Judge, SubnormalsAreJudgedToAFewUnits) {
  for (const Dtype type : tensor_dtypes) {
    const std::string dtype(data_type(type).word);
    Judged judged("rotary_dim=8 q.head_dim=8 positions=3 data=subnormal dtype=" + dtype);
    ASSERT_TRUE(judged.finding().holds()) << dtype;
    EXPECT_EQ(judged.finding().compared, 8) << dtype;
    const Value y = judged.got(2);
    judged.put(2, {y.re + 10 * data_type(judged.problem.source.dtype).format.eta, y.im});
    EXPECT_FALSE(judged.finding().holds()) << dtype;
  }
}

TEST(Judge, PairsNextToOverflowAreJudged) {
  for (const Dtype type : tensor_dtypes)
    for (const char* scale : {"0", "-3", "0.25"}) {
      const std::string dtype(data_type(type).word);
      Judged judged("rotary_dim=8 q.head_dim=8 positions=3 data=edge attention_scale=" +
                    std::string(scale) + " dtype=" + dtype);
      ASSERT_TRUE(judged.finding().holds()) << dtype << " " << scale;
      EXPECT_EQ(judged.finding().compared, 8) << dtype << " " << scale;
      const Value y = judged.got(2);
      const double off = 1 + 4 * data_type(judged.problem.source.dtype).format.u;
      for (const Value wrong :
           {Value{y.re * off * off, y.im * off * off}, {0, 0}, {infinity, y.im}}) {
        judged.put(2, wrong);
        EXPECT_FALSE(judged.finding().holds()) << dtype << " " << scale << " " << wrong.re;
      }
    }
}

// The bound of 16-bit results is half a unit in the last place and no more. A result rounded to the
// other neighbour is found, unless that neighbour was nearly as near.
TEST(Judge, SixteenBitResultsAreJudgedByTheirHalfUnits) {
  for (const Dtype type : tensor_dtypes) {
    if (!is_narrow(type)) continue;
    const std::string dtype(data_type(type).word);
    Judged judged("rotary_dim=64 q.head_dim=64 tokens=64 q.heads=2 dtype=" + dtype);
    const Finding f = judged.finding();
    ASSERT_TRUE(f.holds()) << f.margin;
    EXPECT_GT(f.margin, 0.95) << dtype;
    const double u = data_type(judged.problem.source.dtype).format.u;
    const Value y = judged.got(5);
    const bool first = std::abs(y.re) > std::abs(y.im);
    const double two_units = 4 * u * std::exp2(std::ilogb(first ? y.re : y.im));
    judged.put(5, {first ? y.re + two_units : y.re, first ? y.im : y.im + two_units});
    EXPECT_FALSE(judged.finding().holds()) << dtype;
    judged.put(5, y);
    EXPECT_TRUE(judged.finding().holds()) << dtype;
  }
}

TEST(Judge, DeclaredBoundOfSixteenBitsIsInTheirUnits) {
  Judged judged("rotary_dim=8 q.head_dim=8 tokens=9 dtype=bf16");
  judged.change_all([](Value y) { return Value{y.re * (1 + 0x1p-7), y.im * (1 + 0x1p-7)}; });
  for (const double declared : {0, 1, 4}) {
    judged.facts.error_bound = declared;
    EXPECT_EQ(judged.finding().holds(), declared == 4) << declared;
  }
}

TEST(Judge, DoublesAreJudgedFiner) {
  const auto slightly_off = [](Value y) { return Value{y.re * (1 + 1e-12), y.im * (1 + 1e-12)}; };
  Judged narrow("rotary_dim=8 q.head_dim=8"), wide("rotary_dim=8 q.head_dim=8 dtype=f64");
  narrow.change_all(slightly_off);
  EXPECT_TRUE(narrow.finding().holds());
  EXPECT_TRUE(wide.finding().holds());
  wide.change_all(slightly_off);
  EXPECT_FALSE(wide.finding().holds());
  EXPECT_GT(wide.finding().margin, 1'000);
}

}  // namespace
}  // namespace ropewalk::harness
