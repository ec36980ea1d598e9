// Facts of the decay bound for rotary_dim 128 and base 10000, computed outside this project.
#include "reference/decay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "reference/frequencies.h"

namespace ropewalk {
namespace {

using Numbers = std::vector<std::complex<double>>;

/// A frequency list, and its prefix sums at any distance.
struct Curve {
  explicit Curve(std::int64_t rotary_dim) : inv_freq(inverse_frequencies(10000, rotary_dim)) {}
  Numbers sums(std::int64_t distance) { return prefix_sums(oracle, inv_freq, distance); }
  double mean(std::int64_t distance) { return mean_prefix_magnitude(sums(distance)); }
  /// sum h_i e^(i D theta_i), computed from its definition.
  std::complex<double> direct_sum(const Numbers& h, std::int64_t distance) {
    std::complex<double> total;
    for (std::size_t i = 0; i < h.size(); ++i) {
      const Rotation r = oracle.at(inv_freq[i], distance);
      total += h[i] * std::complex<double>(static_cast<double>(r.re), static_cast<double>(r.im));
    }
    return total;
  }

  std::vector<double> inv_freq;
  Oracle oracle;
};

/// h_i = n - i, the sequence that comes closest to the bound.
Numbers linear_h(std::size_t n) {
  Numbers h;
  for (std::size_t i = 0; i < n; ++i) {
    h.emplace_back(static_cast<double>(n - i));
  }
  return h;
}

TEST(Decay, TheCurveHasItsKnownValues) {
  Curve curve(128);
  EXPECT_EQ(curve.mean(0), 32.5);
  EXPECT_NEAR(curve.mean(10), 17.954137, 1e-6);
  EXPECT_NEAR(curve.mean(50), 12.629452, 1e-6);
  EXPECT_NEAR(curve.mean(100), 10.227330, 1e-6);
  EXPECT_NEAR(curve.mean(256), 6.543097, 1e-6);
  EXPECT_EQ(curve.mean(-100), curve.mean(100));
}

TEST(Decay, TheCurveIsNotMonotone) {
  Curve curve(128);
  int rises = 0;
  double largest = 0, previous = curve.mean(0);
  for (std::int64_t distance = 1; distance <= 256; ++distance) {
    const double here = curve.mean(distance);
    rises += here > previous ? 1 : 0;
    largest = std::max(largest, here - previous);
    previous = here;
  }
  EXPECT_EQ(rises, 115);
  EXPECT_NEAR(largest, 1.166769, 1e-6);  // its step from 99 to 100
}

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

TEST(Decay, TheAbelSumIsTheDirectSum) {
  Curve curve(128);
  Numbers h;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto k = static_cast<double>(i);
    h.emplace_back(std::cos(k * k), std::sin(3 * k) - 0.2);
  }
  for (const std::int64_t distance : {0, 1, 7, 100, -100, 4096, 1000000, -2147483647}) {
    const auto sums = curve.sums(distance);
    const auto direct = curve.direct_sum(h, distance);
    EXPECT_LE(std::abs(abel_sum(h, sums) - direct), 1e-11) << distance;
    EXPECT_LE(std::abs(direct), decay_bound(h, sums)) << distance;
  }
}

// Shows how close the bound is. A bound that is always far away would prove nothing.
TEST(Decay, TheBoundHasTeethForLinearH) {
  Curve curve(128);
  const Numbers h = linear_h(64);
  struct Ratio {
    std::int64_t distance;
    double whole, real_part;
  };
  for (const Ratio& known :
       {Ratio{1, 1.007035, 1.027789}, {50, 1.060165, 1.179125}, {256, 1.320368, 2.228167}}) {
    const double bound = decay_bound(h, curve.sums(known.distance));
    const auto sum = curve.direct_sum(h, known.distance);
    EXPECT_NEAR(bound / std::abs(sum), known.whole, 1e-6) << known.distance;
    EXPECT_NEAR(bound / std::abs(sum.real()), known.real_part, 1e-6) << known.distance;
  }
}

/// The bound with the last term |h_(n-1)| left out of its maximum, which is wrong on purpose.
double bound_without_last_term(const Numbers& h, const Numbers& sums) {
  double largest = 0, total = 0;
  for (std::size_t i = 0; i + 1 < h.size(); ++i) {
    largest = std::max(largest, std::abs(h[i + 1] - h[i]));
  }
  for (const auto& s : sums) {
    total += std::abs(s);
  }
  return largest * total;
}

TEST(Decay, TheMaximumNeedsItsLastTerm) {
  Curve curve(128);
  const Numbers constant(64, 1.0);
  const auto sums = curve.sums(10);
  const double sum = std::abs(curve.direct_sum(constant, 10));
  EXPECT_NEAR(sum, 44.245113, 1e-6);
  EXPECT_EQ(bound_without_last_term(constant, sums), 0);
  EXPECT_GT(sum, bound_without_last_term(constant, sums));
  EXPECT_LE(sum, decay_bound(constant, sums));
}

}  // namespace
}  // namespace ropewalk
