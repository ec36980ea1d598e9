// Checks the error-free transformations exactly, by 128-bit integers. Every double here is an
// integer.
#include "reference/double_double.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <utility>

namespace ropewalk {
namespace {

__extension__ using Int128 = __int128;
constexpr int rounds = 200000;

/// Makes seeded integers of a given width, with random signs.
class Integers {
 public:
  explicit Integers(std::uint64_t seed) : bits_(seed) {}
  /// |value| in [0, 2^width], any sign.
  std::int64_t below(int width) {
    const auto magnitude = static_cast<std::int64_t>(bits_() >> (64 - width));
    return bits_() % 2 == 0 ? magnitude : -magnitude;
  }
  /// |value| in [2^52, 2^53), any sign: a full significand.
  std::int64_t full() {
    const auto magnitude = static_cast<std::int64_t>((bits_() >> 12) | (std::uint64_t{1} << 52));
    return bits_() % 2 == 0 ? magnitude : -magnitude;
  }
  int shift(int most) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(most + 1)); }

 private:
  std::mt19937_64 bits_;
};

double scaled(std::int64_t x, int shift) {
  return std::ldexp(static_cast<double>(x), shift);
}

Int128 integer(double x) {
  return static_cast<Int128>(x);
}
Int128 integer(const DoubleDouble& x) {
  return integer(x.hi) + integer(x.lo);
}

/// True if hi is the nearest double of the whole.
bool is_normalized(const DoubleDouble& x) {
  return x.hi + x.lo == x.hi;
}

/// high * 2^54 + low with a full high part: a double-double of integers, 107 bits.
struct Wide {
  std::int64_t high, low;
  DoubleDouble value() const { return {scaled(high, 54), static_cast<double>(low)}; }
};

Wide wide(Integers& integers) {
  return {integers.full(), integers.below(53)};
}

TEST(DoubleDouble, TwoSumIsExact) {
  Integers integers(1);
  for (int k = 0; k < rounds; ++k) {
    const double a = scaled(integers.below(53), integers.shift(60));
    const double b = scaled(integers.below(53), integers.shift(60));
    const DoubleDouble s = two_sum(a, b);
    ASSERT_TRUE(integer(s) == integer(a) + integer(b)) << a << " + " << b;
    ASSERT_TRUE(is_normalized(s));
    const DoubleDouble q = std::abs(a) >= std::abs(b) ? quick_two_sum(a, b) : quick_two_sum(b, a);
    ASSERT_TRUE(q.hi == s.hi && q.lo == s.lo) << a << " + " << b;
  }
}

TEST(DoubleDouble, TwoProductIsExact) {
  Integers integers(2);
  for (int k = 0; k < rounds; ++k) {
    const double a = scaled(integers.below(53), 0), b = scaled(integers.below(53), 0);
    const DoubleDouble p = two_product(a, b);
    ASSERT_TRUE(integer(p) == integer(a) * integer(b)) << a << " * " << b;
    ASSERT_TRUE(is_normalized(p));
  }
}

/// (a * b - p) / 2^54 for p near the product. All numbers are split at 2^108 and 2^54. So the large
/// parts cancel in integers, and only the small remainder is rounded.
double product_error(const Wide& a, const Wide& b, const DoubleDouble& p) {
  const Int128 top = static_cast<Int128>(a.high) * b.high - integer(std::ldexp(p.hi, -108));
  const Int128 middle = static_cast<Int128>(a.high) * b.low + static_cast<Int128>(a.low) * b.high;
  const auto bottom = static_cast<double>(static_cast<Int128>(a.low) * b.low);
  const double low = std::ldexp(p.lo, -54);
  const double low_integer = std::trunc(low);
  const Int128 exact = top * (Int128{1} << 54) + middle - integer(low_integer);
  return static_cast<double>(exact) + std::ldexp(bottom, -54) - (low - low_integer);
}

TEST(DoubleDouble, RelativeErrorOfAProduct) {
  Integers integers(3);
  double worst = 0;
  for (int k = 0; k < rounds; ++k) {
    const Wide a = wide(integers), b = wide(integers);
    const DoubleDouble p = a.value() * b.value();
    ASSERT_TRUE(is_normalized(p));
    const double whole = std::ldexp(std::abs(p.hi), -54);
    worst = std::max(worst, std::abs(product_error(a, b, p)) / whole);
  }
  EXPECT_GT(worst, 0);
  EXPECT_LE(worst, 0x1p-102);
  std::cout << "worst relative error of a product: 2^" << std::log2(worst) << "\n";
}

TEST(DoubleDouble, RelativeErrorOfASumAndADifference) {
  Integers integers(4);
  double worst = 0;
  for (int k = 0; k < rounds; ++k) {
    const Wide a = wide(integers), b = wide(integers);
    const int shift = integers.shift(18);
    const DoubleDouble shifted = {std::ldexp(a.value().hi, shift), std::ldexp(a.value().lo, shift)};
    const Int128 whole_a = integer(shifted), whole_b = integer(b.value());
    const DoubleDouble sum = shifted + b.value(), difference = shifted - b.value();
    ASSERT_TRUE(is_normalized(sum) && is_normalized(difference));
    for (const auto& [result, exact] : {std::pair<DoubleDouble, Int128>{sum, whole_a + whole_b},
                                        {difference, whole_a - whole_b}}) {
      const double error = std::abs(static_cast<double>(integer(result) - exact));
      ASSERT_LE(error, 0x1p-102 * std::abs(static_cast<double>(exact)));
      worst = std::max(worst, error / std::abs(static_cast<double>(exact)));
    }
  }
  EXPECT_GT(worst, 0);
  std::cout << "worst relative error of a sum: 2^" << std::log2(worst) << "\n";
}

TEST(DoubleDouble, NegationIsExactAndADifferenceOfEqualsIsZero) {
  Integers integers(5);
  for (int k = 0; k < 1000; ++k) {
    const DoubleDouble a = wide(integers).value();
    const DoubleDouble zero = a - a;  // NOLINT(misc-redundant-expression): what is tested
    EXPECT_TRUE(integer(-a) == -integer(a));
    EXPECT_TRUE(zero.hi == 0 && zero.lo == 0);
    EXPECT_TRUE(integer(a * DoubleDouble(1.0)) == integer(a));
  }
}

// A negative control of the measure: a product rounded to double is 2^-53 off.
TEST(DoubleDouble, APlainDoubleProductIsFoundWanting) {
  Integers integers(6);
  const Wide a = wide(integers), b = wide(integers);
  const DoubleDouble p(a.value().hi * b.value().hi);
  EXPECT_GT(std::abs(product_error(a, b, p)) / std::ldexp(std::abs(p.hi), -54), 0x1p-60);
}

}  // namespace
}  // namespace ropewalk
