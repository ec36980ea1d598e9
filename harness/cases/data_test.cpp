// Test data is part of the meaning of a replay line: the pinned values may never change.
#include "harness/cases/data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/cases/poison.h"
#include "harness/cases/problem.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {
namespace {

constexpr int draws = 100'000;
constexpr std::uint64_t first = hash(1, 0, 0, 0, 0, 0), other = hash(42, 1, 2, 3, 4, 5),
                        neighbour = hash(1, 0, 0, 0, 0, 1);

// These values were computed by a second program in another language.
TEST(Data, PinnedHashes) {
  EXPECT_EQ(mix(0), 0u);
  EXPECT_EQ(mix(1), 0x5692161d100b05e5u);
  EXPECT_EQ(mix(0x0123456789abcdef), 0xb2c058e4ebb5112cu);
  EXPECT_EQ(hash(0, 0), 0xe220a8397b1dcdafu);  // splitmix64's published first output
  EXPECT_EQ(hash(7), 7u);
  EXPECT_EQ(first, 0x348c3d1af8bec8e5u);
  EXPECT_EQ(other, 0xf23d36f3aa14c249u);
  EXPECT_EQ(hash(~std::uint64_t{0}, -1), 0xa16e7ea4b6041814u);
}

constexpr const DataType &f32 = data_type(Dtype::f32), &f64 = data_type(Dtype::f64);

TEST(Data, PinnedValues) {
  EXPECT_EQ(unit_value(first, 24), 0x1.69187ap-1);
  EXPECT_EQ(unit_value(first, 53), 0x1.69187a35f17d9p-1);
  EXPECT_EQ(unit_value(other, 24), -0x1.e47a6cp-1);
  EXPECT_EQ(unit_value(other, 53), -0x1.e47a6de754298p-1);
  EXPECT_EQ(wide_value(first, f32), 0x1.69187ap-12);
  EXPECT_EQ(wide_value(other, f64), -0x1.e47a6de754298p-17);
  EXPECT_EQ(wide_value(neighbour, f32), -0x1.aa9a3ap+19);
  EXPECT_EQ(tiny_value(first, f32), 0x1.69187ap-125);
  EXPECT_EQ(tiny_value(other, f64), -0x1.e47a6de754298p-125);
}

TEST(Data, PinnedValuesOfNarrowTypes) {
  const std::uint64_t bits = hash(7, 0);
  const DataType &f16 = data_type(Dtype::f16), &bf16 = data_type(Dtype::bf16);
  EXPECT_EQ(special_value(bits, f16), 0x1.8fp-16);
  EXPECT_EQ(special_value(bits, bf16), 0x1.88p-128);
  EXPECT_EQ(tiny_value(bits, f16), 0x1.c78p-14);
  EXPECT_EQ(tiny_value(bits, bf16), 0x1.c6p-126);
  EXPECT_EQ(wide_value(bits, f16), 0x1.c78p+5);
  EXPECT_EQ(wide_value(bits, bf16), 0x1.c6p+9);
  EXPECT_EQ(huge_value(bits, f16), 0x1.c78p+8);
  EXPECT_EQ(huge_value(bits, bf16), 0x1.c6p+117);
  EXPECT_EQ(subnormal_value(bits, f16.format), 0x1.6p-19);
  EXPECT_EQ(edge_value(bits, bf16.format, 1), 0x1.c6p+126);
}

TEST(Data, UnitValuesAreFullMantissasOfUnitSize) {
  int negative = 0, odd_f32 = 0, odd_f64 = 0;
  double sum = 0;
  for (int n = 0; n < draws; ++n) {
    const std::uint64_t bits = hash(3, n);
    const double narrow = unit_value(bits, 24), wide = unit_value(bits, 53);
    ASSERT_EQ(narrow, double{static_cast<float>(narrow)}) << "exact in f32";
    ASSERT_TRUE(std::abs(narrow) >= 0.5 && std::abs(narrow) < 1) << narrow;
    ASSERT_TRUE(std::abs(wide) >= 0.5 && std::abs(wide) < 1) << wide;
    ASSERT_EQ(std::signbit(narrow), std::signbit(wide));
    ASSERT_LT(std::abs(narrow - wide), 0x1p-24);
    negative += std::signbit(narrow) ? 1 : 0;
    odd_f32 += std::fmod(std::abs(narrow) * 0x1p24, 2) == 1 ? 1 : 0;
    odd_f64 += std::fmod(std::abs(wide) * 0x1p53, 2) == 1 ? 1 : 0;
    sum += std::abs(wide);
  }
  // Six standard deviations of a fair coin are about 950 of 100,000.
  EXPECT_NEAR(negative, 0.5 * draws, 1'000);
  EXPECT_NEAR(odd_f32, 0.5 * draws, 1'000) << "the last bit of f32 is used";
  EXPECT_NEAR(odd_f64, 0.5 * draws, 1'000) << "the last bit of f64 is used";
  EXPECT_NEAR(sum / draws, 0.75, 0.005);
}

TEST(Data, NarrowValuesAreExactInTheirTypeAndStayInRange) {
  for (const DataType& type : data_type_rows) {
    if (type.format.mantissa == 0 || type.computed_in == type.dtype) continue;
    const Format& f = type.format;
    for (int n = 0; n < draws / 10; ++n) {
      const std::uint64_t bits = hash(6, n);
      for (const double v :
           {unit_value(bits, f.mantissa), wide_value(bits, type), huge_value(bits, type),
            special_value(bits, type), edge_value(bits, f, 1)})
        with_floating_type(type.dtype, [&]<class Stored>(std::type_identity<Stored>) {
          const auto stored = Stored(static_cast<TableOf<Stored>>(v));
          ASSERT_EQ(static_cast<double>(stored), v) << type.word;
        });
      ASSERT_LT(std::abs(64 * std::sqrt(2.0) * huge_value(bits, type)), f.largest);
      ASSERT_GE(std::abs(wide_value(bits, type)), 8 * f.normal) << "2^-3 times as large";
    }
  }
}

TEST(Data, SubnormalAndEdgeValuesLieAtTheEndsOfTheType) {
  for (const Dtype dtype : tensor_dtypes) {
    const Format& f = data_type(dtype).format;
    int least = 0;
    for (int n = 0; n < draws / 10; ++n) {
      const double v = std::abs(subnormal_value(hash(7, n), f));
      ASSERT_LE(v, 2 * f.normal);
      least += v >= f.eta && v <= 100 * f.eta ? 1 : 0;
      for (const double scale : {0.0, 1.0, -3.0, 64.0}) {
        const double end = std::abs(edge_value(hash(8, n), f, scale));
        const double a = std::max(1.0, std::abs(scale)), most = f.largest * std::sqrt(0.5);
        ASSERT_LE(end * std::sqrt(2.0) * a, most * (1 + 0x1p-50));
        ASSERT_GT(end * std::sqrt(2.0) * a, most / 4);
      }
    }
    EXPECT_GT(least, draws / 25);
  }
}

TEST(Data, SpanValuesHaveEveryExponentBetweenTheEnds) {
  for (const Dtype dtype : tensor_dtypes)
    for (const double scale : {0.0, -3.0}) {
      const Format& f = data_type(dtype).format;
      std::set<int> met;
      for (int n = 0; n < draws; ++n) {
        const double v = std::abs(span_value(hash(9, n), hash(10, n), f, scale));
        ASSERT_GE(v, f.normal);
        ASSERT_LE(v, 2 * std::abs(edge_value(0, f, scale)));
        met.insert(std::ilogb(v));
      }
      const int all = std::ilogb(edge_value(0, f, scale)) - std::ilogb(f.normal) + 1;
      EXPECT_EQ(std::ssize(met), all);
    }
}

TEST(Problem, OutputsHoldNumbersWhereThatIsAsked) {
  Oracle oracle;
  const Case c = case_from_text("before=numbers q.heads=2 q.head_dim=2 q.out=-1,-1,3");
  const Problem p = make_problem(c, oracle);
  const Buffer& out = p.buffers[static_cast<std::size_t>(p.output(0).buffer)];
  EXPECT_TRUE(out.holds_input);
  for (const std::int64_t i : {0, 1, 3, 4})
    EXPECT_LT(std::abs(load(out.content, Dtype::f32, i)), 1);
  EXPECT_TRUE(is_poison(out.content.data() + 2 * sizeof(float), Dtype::f32, Poison::a));
}

TEST(Problem, ATableMayHaveAnglesOfItsOwn) {
  Oracle oracle;
  const auto cos_of = [&](const std::string& line, std::int64_t row) {
    const Problem p = make_problem(case_from_text(line), oracle);
    return load(p.buffers[static_cast<std::size_t>(p.buffer(Operand::cos))].content, Dtype::f32,
                row);
  };
  EXPECT_EQ(cos_of("table_apart=3 positions=8 q.heads=1", 8), cos_of("positions=5 q.heads=1", 5));
  const std::string none = "rotary_dim=6 q.head_dim=6 q.heads=1 positions=8 ",
                    one = none + "table_apart=3 table_apart_pair=1";
  for (std::int64_t pair = 0; pair < 3; ++pair)
    EXPECT_EQ(cos_of(one, 24 + pair) == cos_of(none, 24 + pair), pair != 1) << pair;
}

}  // namespace
}  // namespace ropewalk::harness
