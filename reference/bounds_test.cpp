// Compares the bounds of storing with rounding itself: no rounding moves further than the bound,
// and some roundings come close to it.
#include "reference/bounds.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace ropewalk::bounds {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Rounds to the nearest number of the format by the definition: a multiple of the spacing in its
// binade.
double rounded(const Format& f, double v) {
  int exponent = 0;
  std::frexp(std::max(std::abs(v), f.normal), &exponent);
  const double spacing = std::ldexp(1.0, exponent - f.mantissa);
  return std::nearbyint(v / spacing) * spacing;
}

std::vector<DataType> narrow_types() {
  std::vector<DataType> types;
  for (const Dtype dtype : tensor_dtypes)
    if (is_narrow(dtype)) types.push_back(data_type(dtype));
  return types;
}

class Storage : public testing::TestWithParam<DataType> {
 protected:
  const Format format = GetParam().format;
  const Precision precision = stored_as(format);
  std::mt19937_64 random{20210420};

  // Any magnitude, from below the least subnormal to a few thousand.
  double any() {
    const double reach = 12 - std::log2(format.eta) + 2;
    const double unit = std::ldexp(static_cast<double>(random() >> 11), -53);
    const double size = std::exp2(12 - reach * unit);
    return random() % 2 == 0 ? size : -size;
  }
};

TEST_P(Storage, FormatsFitTogether) {
  EXPECT_EQ(format.u, std::ldexp(1.0, -format.mantissa));
  EXPECT_EQ(format.eta, 2 * format.u * format.normal);
  EXPECT_EQ(rounded(format, format.largest), format.largest);
  EXPECT_EQ(std::ilogb(format.largest), std::ilogb(format.largest * (1 + format.u / 2)));
  EXPECT_NE(std::ilogb(format.largest), std::ilogb(format.largest * (1 + 2 * format.u)));
}

TEST_P(Storage, HalfUlpIsTheMostThatRoundingMoves) {
  double worst = 0;
  for (int n = 0; n < 200'000; ++n) {
    const double v = any(), y = rounded(format, v), moved = std::abs(y - v);
    ASSERT_LE(moved, half_ulp(precision, v)) << v;
    ASSERT_LE(moved, half_ulp(precision, y)) << v << ": told by what was stored";
    worst = std::max(worst, moved / half_ulp(precision, v));
  }
  EXPECT_GT(worst, 0.999);
}

TEST_P(Storage, PairsAreMovedByNoMoreThanTheBoundOfTheirLength) {
  double worst = 0;
  for (int n = 0; n < 200'000; ++n) {
    const double a = any(), b = n % 2 == 0 ? any() : a * 0.75, length = std::hypot(a, b);
    const double moved = std::hypot(rounded(format, a) - a, rounded(format, b) - b);
    ASSERT_LE(moved, stored_error(precision, a, b));
    ASSERT_LE(stored_error(precision, a, b), stored_error_of_length(precision, length) * 1.000001);
    ASSERT_TRUE(length < 0.75 || moved <= stored_relative_error(precision) * length) << length;
    worst = std::max(worst, moved / stored_error_of_length(precision, length));
  }
  EXPECT_GT(worst, 0.9);
}

TEST_P(Storage, RotationsAreMovedByNoMoreThanTheirBound) {
  double worst = 0;
  for (int n = 0; n < 200'000; ++n) {
    const double angle = std::ldexp(static_cast<double>(random() >> 11), -50);
    const double c = std::cos(angle), s = std::sin(angle);
    const double moved = std::hypot(rounded(format, c) - c, rounded(format, s) - s);
    ASSERT_LE(moved, stored_rotation_error(precision)) << angle;
    worst = std::max(worst, moved / stored_rotation_error(precision));
  }
  EXPECT_GT(worst, 0.95);
}

// Rows of a table in this type: rounded to f32, and then to it.
TEST_P(Storage, TableRowsAreMovedByNoMoreThanTheirBound) {
  const double bound = table_error(GetParam());
  double worst = 0;
  for (int n = 0; n < 200'000; ++n) {
    const double angle = std::ldexp(static_cast<double>(random() >> 11), -50);
    const auto stored = [&](double v) { return rounded(format, double{static_cast<float>(v)}); };
    const double c = std::cos(angle), s = std::sin(angle);
    worst = std::max(worst, std::hypot(stored(c) - c, stored(s) - s) / bound);
  }
  EXPECT_LE(worst, 1);
  EXPECT_GT(worst, 0.9);
}

TEST_P(Storage, WhatWasComputedNearTheTruthIsStoredWithinTheBound) {
  for (int n = 0; n < 200'000; ++n) {
    const double y1 = any(), y2 = any();
    const double h = std::abs(any()) * 0x1p-12, angle = static_cast<double>(n);
    const double z1 = rounded(format, y1 + h * std::cos(angle));
    const double z2 = rounded(format, y2 + h * std::sin(angle));
    ASSERT_LE(std::hypot(z1 - y1, z2 - y2), with_storage(precision, h, y1, y2) * (1 + 0x1p-50));
  }
}

TEST_P(Storage, FlushingLosesWhatIsSubnormalAndNoMore) {
  Precision flushes = precision;
  flushes.flushes = true;
  EXPECT_EQ(half_ulp(flushes, 0), format.normal);
  EXPECT_EQ(half_ulp(flushes, format.normal / 2), format.normal);
  const double large = 4 * format.normal / format.u;
  EXPECT_EQ(half_ulp(flushes, large), half_ulp(precision, large));
  EXPECT_GE(underflow(flushes, 2) - underflow({f32.u, f32.eta, f32.normal, true}, 2),
            2 * format.normal)
      << "inputs";
}

TEST_P(Storage, WhatIsNotFiniteHasNoBound) {
  EXPECT_EQ(half_ulp(precision, infinity), infinity);
  EXPECT_EQ(half_ulp(precision, std::numeric_limits<double>::quiet_NaN()), infinity);
}

INSTANTIATE_TEST_SUITE_P(Bounds, Storage, testing::ValuesIn(narrow_types()),
                         [](const auto& test) { return std::string(test.param.word); });

// A pair by a rotation, with every operation rounded to the format. The scale is rounded too.
struct InType {
  const Format& f;
  struct Pair {
    double first, second;
  };
  Pair turned(Pair x, Pair r, double scale) const {
    const auto times = [this](double a, double b) { return rounded(f, a * b); };
    const double c = rounded(f, r.first), s = rounded(f, r.second), by = rounded(f, scale);
    return {times(by, rounded(f, times(x.first, c) - times(x.second, s))),
            times(by, rounded(f, times(x.second, c) + times(x.first, s)))};
  }
};

// Products of 16-bit mantissas and their sums are exact in double, so only `rounded` rounds.
TEST_P(Storage, AKernelAllInTheTypeNeedsWhatIsDerivedAndNotMuchLess) {
  const InType type{format};
  const auto mantissa = [&] {  // in [1, 2], a number of the type; half of them are next to 1
    const double any = std::ldexp(static_cast<double>(random() >> 11), -53);
    return rounded(format, 1 + (random() % 2 == 0 ? any : any / 16));
  };
  double worst = 0;
  for (int n = 0; n < 400'000; ++n) {
    const double x1 = mantissa(), x2 = random() % 2 == 0 ? mantissa() : mantissa() / 2;
    const double angle = std::ldexp(static_cast<double>(random() >> 11), -50);
    // Between two numbers of the type and next to 1, where its rounding moves a scale most.
    const double scale = 1 + format.u * (0.9 + 2 * static_cast<double>(random() % 8));
    const InType::Pair r{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    const InType::Pair y = type.turned({x1, x2}, r, scale);
    const double off = std::hypot(y.first - scale * (x1 * r.first - x2 * r.second),
                                  y.second - scale * (x2 * r.first + x1 * r.second));
    worst = std::max(worst, off / (scale * std::hypot(x1, x2) * format.u));
  }
  const double table = needed_in_type(GetParam(), false), own = needed_in_type(GetParam(), true);
  EXPECT_LE(worst, table);
  EXPECT_GT(worst, 0.7 * table);
  EXPECT_GE(own, table);
  EXPECT_LT(own, table + 0.01);
}

TEST(Bounds, OfAKernelAllInTheTypeAreTheFirstOrderSums) {
  const auto needed = [](Dtype dtype, bool own_angles) {
    return needed_in_type(data_type(dtype), own_angles);
  };
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    EXPECT_NEAR(needed(dtype, false), gamma + 2, 1e-5);
    EXPECT_NEAR(needed(dtype, true), gamma + 4, 1e-5);
  }
  EXPECT_NEAR(needed(Dtype::f16, false), gamma + 2 + rounded_rotation, 0.005);
  EXPECT_NEAR(needed(Dtype::bf16, false), gamma + 2 + rounded_rotation, 0.035);
  EXPECT_GT(needed(Dtype::bf16, false), gamma + 2 + rounded_rotation);
}

TEST(Bounds, NothingIsAddedWhereResultsAreStoredAsComputed) {
  for (const Precision& p : {f32, f64}) {
    EXPECT_EQ(stored_error(p, 1, infinity), 0);
    EXPECT_EQ(stored_error_of_length(p, 1) + stored_relative_error(p) + stored_rotation_error(p),
              0);
    EXPECT_EQ(with_storage(p, 0.25, 1, 1), 0.25);
    EXPECT_EQ(p.unit(), p.u);
  }
}

// A wider table is rounded to f32 first. The product is then computed with exact operations, so
// the whole error is that of the rounding.
TEST(TableRounding, MovesAProductByNoMoreThanItsPart) {
  const DataType& wide = data_type(Dtype::f64);
  std::mt19937_64 random{20210420};
  const double rounding = table_rounding(f32, wide.format);
  double worst = 0;
  for (int n = 0; n < 200'000; ++n) {
    const double angle = std::ldexp(static_cast<double>(random() >> 11), -50);
    const double c = std::cos(angle), s = std::sin(angle);
    const double dc = double{static_cast<float>(c)} - c, ds = double{static_cast<float>(s)} - s;
    const double x1 = std::cos(3 * angle), x2 = std::sin(3 * angle);
    const double moved = std::hypot(x1 * dc - x2 * ds, x2 * dc + x1 * ds);
    worst = std::max(worst, moved / rounding);
  }
  EXPECT_LE(worst, 1);
  EXPECT_GT(worst, 0.9);
}

TEST(TableRounding, IsOnlyThatOfAWiderTable) {
  for (const Dtype table : tensor_dtypes) {
    const Format& format = data_type(table).format;
    EXPECT_EQ(table_rounding(f64, format), 0);
    EXPECT_EQ(table_rounding(f32, format) > 0, table == Dtype::f64);
    EXPECT_EQ(table_rounding(stored_as(data_type(Dtype::bf16).format), format) > 0,
              table == Dtype::f64);
  }
  for (const double scale : {1.0, -3.0}) {
    EXPECT_EQ(against_table(f32, 2, 1, scale, 0), against_table(f32, 2, 1, scale));
    EXPECT_GT(against_table(f32, 2, 1, scale, rounded_rotation * f32.u),
              against_table(f32, 2, 1, scale) + 2 * std::abs(scale) * rounded_rotation * f32.u);
  }
  EXPECT_EQ(table_error(data_type(Dtype::f32)), rounded_rotation * f32.u);
  EXPECT_EQ(table_error(data_type(Dtype::f64)), rounded_rotation * f64.u);
}

}  // namespace
}  // namespace ropewalk::bounds
