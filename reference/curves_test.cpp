// The numbers come from a second derivation in Python: mpmath with 40 digits for the rotations,
// numpy for f32, and Mersenne Twister's raw output for the drawn vectors.
#include "reference/curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "reference/frequencies.h"

namespace ropewalk {
namespace {

double at(const NamedCurve& curve, double x) {
  const auto found = std::find(curve.x.begin(), curve.x.end(), x);
  return found == curve.x.end() ? -1 : curve.y[static_cast<std::size_t>(found - curve.x.begin())];
}

TEST(Curves, DecayBoundAndItsRises) {
  Oracle oracle;
  const std::vector<NamedCurve> curves = decay_bound_curves(oracle);
  for (const auto& [distance, b] :
       {std::pair{0, 32.5}, std::pair{1, 31.53816614}, std::pair{10, 17.95413714},
        std::pair{50, 12.62945249}, std::pair{100, 10.22732995}, std::pair{256, 6.543097323}})
    EXPECT_NEAR(at(curves[0], distance), b, 1e-8) << distance;
  ASSERT_EQ(curves[1].x.size(), 115u);
  EXPECT_EQ(std::vector(curves[1].x.begin(), curves[1].x.begin() + 6),
            (std::vector<double>{19, 24, 25, 30, 31, 36}));
  EXPECT_EQ(at(curves[1], 100), at(curves[0], 100));
}

/// A frequency list, and the curve at any distance.
struct Curve {
  explicit Curve(std::int64_t rotary_dim) : inv_freq(inverse_frequencies(10000, rotary_dim)) {}
  double mean(std::int64_t distance) { return mean_prefix_magnitude(oracle, inv_freq, distance); }
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
    for (std::int64_t distance = begin; distance < end; ++distance) total += curve.mean(distance);
    const double mean = total / static_cast<double>(end - begin);
    EXPECT_NEAR(mean, expected, 1e-6) << "[" << begin << ", " << end << ")";
    EXPECT_LT(mean, previous);
    previous = mean;
    begin = end;
    end *= 4;
  }
}

// |S_j| <= j, so no distance exceeds B(0). From six pairs on, all distances stay clearly below it.
TEST(Decay, EveryDistanceIsBelowTheStart) {
  for (const std::int64_t rotary_dim : {12, 14, 16, 24, 32, 64, 128, 256}) {
    Curve curve(rotary_dim);
    const double start = curve.mean(0);
    EXPECT_EQ(start, static_cast<double>(rotary_dim + 2) / 4);
    double largest = 0;
    for (std::int64_t distance = 1; distance <= 4096; ++distance)
      largest = std::max(largest, curve.mean(distance));
    EXPECT_LT(largest, 0.98 * start) << "rotary_dim " << rotary_dim;
  }
}

TEST(Curves, RelativityByRounding) {
  Oracle oracle;
  const std::vector<NamedCurve> curves = relativity_curves(oracle);
  constexpr double places[] = {141, 1101, 16461, 1048653};
  constexpr double expected[][4] = {{3.512e-4, 4.545e-4, 3.259e-4, 3.098e-4},
                                    {4.048e-4, 5.971e-4, 4.204e-4, 5.161e-4},
                                    {1.776e-7, 1.244e-6, 3.522e-5, 8.797e-4},
                                    {6.587e-9, 8.209e-9, 1.052e-8, 7.921e-9},
                                    {5.823e-9, 0.1715, 0.1038, 0.162}};
  for (std::size_t way = 0; way < 5; ++way)
    for (std::size_t i = 0; i < 4; ++i)
      // Another powf differs by a last bit in some frequencies, which moves the third curve.
      EXPECT_NEAR(at(curves[way], places[i]) / expected[way][i], 1, way == 2 ? 0.4 : 2e-3)
          << curves[way].series << " at " << places[i];
}

// A pair i turns in L tokens if i <= (n ln(L / 2 pi)) / ln(base).
TEST(Curves, PairsThatTurnInAContext) {
  const double bases[] = {1e4, 5e5, 1e6, 1e7};
  const std::vector<NamedCurve> curves = context_curves();
  ASSERT_EQ(curves.size(), std::size(bases));
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (const double tokens : {128.0, 4096.0, 131072.0, 1048576.0}) {
      const double last =
          std::floor(64 * std::log(tokens / (2 * std::numbers::pi)) / std::log(bases[c]));
      EXPECT_EQ(at(curves[c], tokens), std::min(1.0, (last + 1) / 64)) << bases[c] << " " << tokens;
    }
}

TEST(Curves, AnglesByPosition) {
  Oracle oracle;
  const std::vector<NamedCurve> curves = angle_curves(oracle);
  const struct {
    std::size_t curve;
    double x, y;
  } expected[] = {{0, 1, 4.688e-8},    {0, 1024, 1.186e-4},      {0, 131072, 1.414e-2},
                  {1, 1, 9.84e-8},     {1, 1024, 2.588e-4},      {2, 1, 4.05e-8},
                  {2, 1024, 4.118e-8}, {2, 2147483647, 1.018e-7}};
  for (const auto& e : expected)
    EXPECT_NEAR(at(curves[e.curve], e.x) / e.y, 1, 2e-3) << curves[e.curve].series << " " << e.x;
  for (const NamedCurve& curve : curves) EXPECT_EQ(curve.x.size(), 32u);
  EXPECT_GT(at(curves[0], 2147483647), 1.9);  // as wrong as can be
}

}  // namespace
}  // namespace ropewalk
