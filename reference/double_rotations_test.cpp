#include "reference/double_rotations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "reference/frequencies.h"

namespace ropewalk {
namespace {

// |row product - exact value of another position or the same| of one pair, as double.
double error_at(DoubleRotations& rotations, std::int64_t position, std::size_t i,
                std::int64_t exact_position) {
  const DoubleRotations::Row row = rotations.row(position);
  const Complex<double> fast = rotate(Complex<double>{row.base_cos[i], row.base_sin[i]},
                                      Complex<double>{row.cos[i], row.sin[i]});
  const Rotation exact = rotations.exact(exact_position, i);
  const DoubleDouble re = DoubleDouble(fast.re) - exact.re, im = DoubleDouble(fast.im) - exact.im;
  return std::hypot(re.hi, im.hi);
}

std::vector<std::int64_t> edge_and_random_positions() {
  std::vector<std::int64_t> out;
  // A first product serves 32 positions, and a value of the oracle 1024 times as many.
  for (const std::int64_t edge :
       {0ll, 1ll, 31ll, 32ll, 33ll, 1023ll, 1024ll, 1025ll, 32767ll, 32768ll, 32769ll, 1ll << 20,
        (1ll << 24) + 1, 1234567890ll, (1ll << 31) - 1})
    for (const std::int64_t p : {edge, -edge}) out.push_back(p);
  out.push_back(-(std::int64_t{1} << 31));
  std::mt19937_64 random(1);
  for (int n = 0; n < 300; ++n)
    out.push_back(static_cast<std::int64_t>(random() >> 32) - (std::int64_t{1} << 31));
  return out;
}

TEST(DoubleRotations, AreWithinTheStatedErrorOfTheOracle) {
  for (const bool f32_angle : {false, true}) {
    DoubleRotations rotations(
        f32_angle ? inverse_frequencies_f32(10000, 128) : inverse_frequencies(10000, 128),
        f32_angle);
    double worst = 0;
    for (const std::int64_t position : edge_and_random_positions())
      for (std::size_t i = 0; i < 64; ++i)
        worst = std::max(worst, error_at(rotations, position, i, position));
    EXPECT_LT(worst, DoubleRotations::error);
    EXPECT_GT(worst, 0x1p-54) << "something was compared";
  }
}

TEST(DoubleRotations, TheNextPositionIsFarOutsideTheStatedError) {
  DoubleRotations rotations(inverse_frequencies(10000, 128), false);
  EXPECT_GT(error_at(rotations, 1000001, 63, 1000000), 1e-4);
}

// A position that a float cannot hold turns by the angle of the rounded float.
TEST(DoubleRotations, AnF32AngleIsThatOfTheRoundedProduct) {
  DoubleRotations rotations({1.0, double{0.1F}}, true);
  const Rotation rounded = rotations.exact((1 << 24) + 1, 0), even = rotations.exact(1 << 24, 0);
  EXPECT_EQ(rounded.re.hi, even.re.hi);
  const float angle = 77.0F * 0.1F;
  EXPECT_NEAR(rotations.exact(77, 1).re.hi, std::cos(double{angle}), 0x1p-52);
  EXPECT_NEAR(rotations.exact(-77, 1).im.hi, -std::sin(double{angle}), 0x1p-52);
}

TEST(DoubleRotations, TheirFingerprintSeesOneBit) {
  DoubleRotations one({1.0}, false), same({1.0}, false), other({std::nextafter(1.0, 2)}, false);
  EXPECT_EQ(one.fingerprint(), same.fingerprint());
  EXPECT_NE(one.fingerprint(), other.fingerprint());
}

}  // namespace
}  // namespace ropewalk
