// Facts of the decay bound's curve, computed outside this project. curves_test.cpp has its values.
#include "reference/decay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/frequencies.h"

namespace ropewalk {
namespace {

/// A frequency list, and the curve at any distance.
struct Curve {
  explicit Curve(std::int64_t rotary_dim) : inv_freq(inverse_frequencies(10000, rotary_dim)) {}
  double mean(std::int64_t distance) {
    return mean_prefix_magnitude(prefix_sums(oracle, inv_freq, distance));
  }
  std::vector<double> inv_freq;
  Oracle oracle;
};

TEST(Decay, MeansOverWindowsFall) {
  Curve curve(128);
  const double known[] = {20.775616, 12.802749, 8.851865, 6.297557, 5.019411, 4.662951};
  std::int64_t begin = 1, end = 16;
  double previous = curve.mean(0);
  for (const double expected : known) {
    double total = 0;
    for (std::int64_t distance = begin; distance < end; ++distance) {
      total += curve.mean(distance);
    }
    const double mean = total / static_cast<double>(end - begin);
    EXPECT_NEAR(mean, expected, 1e-6) << "[" << begin << ", " << end << ")";
    EXPECT_LT(mean, previous);
    previous = mean;
    begin = end;
    end *= 4;
  }
}

TEST(Decay, OnePairNeverDecays) {
  Curve curve(2);
  for (std::int64_t distance = 0; distance <= 4096; ++distance) {
    ASSERT_NEAR(curve.mean(distance), 1, 0x1p-52);
  }
}

// |S_j| <= j, so no distance exceeds B(0). From six pairs on, all distances stay clearly below it.
TEST(Decay, EveryDistanceIsBelowTheStart) {
  for (const std::int64_t rotary_dim : {12, 14, 16, 24, 32, 64, 128, 256}) {
    Curve curve(rotary_dim);
    const double start = curve.mean(0);
    EXPECT_EQ(start, static_cast<double>(rotary_dim + 2) / 4);
    double largest = 0;
    for (std::int64_t distance = 1; distance <= 4096; ++distance) {
      largest = std::max(largest, curve.mean(distance));
    }
    EXPECT_LT(largest, 0.98 * start) << "rotary_dim " << rotary_dim;
  }
}

}  // namespace
}  // namespace ropewalk
