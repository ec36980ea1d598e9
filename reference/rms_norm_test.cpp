// The norm's root against MPFR, and its bound against sums in f32 in several orders.
#include "reference/rms_norm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "reference/bounds.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

TEST(RmsNorm, RootIsRightToTwentyNineDigits) {
  std::mt19937_64 random{7};
  for (int i = 0; i < 2000; ++i) {
    const double sum = std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52,
                                  static_cast<int>(random() % 1700) - 850);
    const double epsilon = std::ldexp(1.0, -static_cast<int>(random() % 61));
    const auto count = static_cast<std::int64_t>(1 + random() % 5000);
    const DoubleDouble got = inverse_rms(sum, count, epsilon);
    const Real exact = 1 / sqrt(Real(sum) / count + Real(epsilon));
    const Real error = abs((Real(got.hi) + Real(got.lo)) / exact - 1);
    EXPECT_LT(error, Real(0x1p-96)) << sum << " " << count << " " << epsilon;
  }
}

// A kernel in f32, with the sum in one of three orders.
float normalized(const std::vector<float>& x, float weight, float epsilon, int order) {
  float sums[8] = {};
  const std::size_t parts = order == 0 ? 1 : order == 1 ? 8 : 2;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = order == 2 ? x.size() - 1 - i : i;
    sums[at % parts] += x[at] * x[at];
  }
  float sum = 0;
  for (const float each : sums) sum += each;
  const float mean =
      order == 1 ? sum * (1 / static_cast<float>(x.size())) : sum / static_cast<float>(x.size());
  return x[0] * (1 / std::sqrt(mean + epsilon)) * weight;
}

TEST(RmsNorm, BoundHoldsAndIsOfTheRightSize) {
  std::mt19937 random{11};
  std::uniform_real_distribution<float> any(0.5F, 1.0F);
  const double u = bounds::f32.u;
  double worst = 0;
  for (const std::size_t count : {4U, 64U, 128U, 577U, 4096U})
    for (int round = 0; round < 300; ++round) {
      std::vector<float> x(count);
      for (float& v : x) v = any(random);
      const float weight = any(random), epsilon = round % 2 == 0 ? 1e-6F : 0.5F;
      double sum = 0;
      for (const float v : x) sum += double{v} * v;
      const double exact =
          x[0] * weight / std::sqrt(sum / static_cast<double>(count) + double{epsilon});
      const double bound = bounds::norm_error(u, static_cast<std::int64_t>(count), true, false);
      const double error = std::abs(normalized(x, weight, epsilon, round % 3) / exact - 1);
      EXPECT_LE(error, bound) << count;
      if (count == 4) worst = std::max(worst, error / bound);
    }
  EXPECT_GT(worst, 0.2);  // the bound of a short head is not slack
  for (const std::int64_t d : {8, 128, 1024}) {
    const double first_order = (static_cast<double>(d + 3) / 2 + 6) * u;
    EXPECT_NEAR(bounds::norm_error(u, d, true, false) / first_order, 1, 1e-3);
    EXPECT_NEAR(bounds::norm_error(u, d, true, true) / (first_order + u), 1, 1e-3);
    EXPECT_NEAR(bounds::norm_error(u, d, false, true) / (first_order - u), 1, 1e-3);
  }
}

}  // namespace
}  // namespace ropewalk
