// The curve tells angle contracts apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/testing/own_worker.h"
#include "properties/observe/curves.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

std::vector<CurveRow> curves_of(const std::vector<std::string>& kernels) {
  const WorkerOptions asked = options({ROPEWALK_MUTANTS});
  const PluginKernels found = kernels_by_plugin(asked);
  std::vector<KernelFacts> chosen = found.kernels;
  std::erase_if(chosen, [&](const KernelFacts& k) {
    return std::find(kernels.begin(), kernels.end(), k.name) == kernels.end();
  });
  OwnWorkers workers(asked, found);
  Oracle oracle;
  return position_curves(workers, oracle, chosen);
}

CurveRow curve_of(const std::string& kernel) {
  const auto curves = curves_of({kernel});
  EXPECT_EQ(curves.size(), 1u) << kernel;
  return curves.empty() ? CurveRow{} : curves[0];
}

double error_at(const CurveRow& curve, double position) {
  const auto at = std::find(curve.x.begin(), curve.x.end(), position);
  return at == curve.x.end() ? std::nan("")
                             : curve.y[static_cast<std::size_t>(at - curve.x.begin())];
}

// The bound of the product and the rounded rotation: (1 + sqrt(5) u)(1 + 2 u) - 1, u = 2^-24.
constexpr double rounding = 4.3 * 0x1p-24;

TEST(PositionCurve, IsFlatForATableAndForExactAngles) {
  for (const char* kernel : {"plain", "dense", "phase"}) {
    const CurveRow curve = curve_of(kernel);
    EXPECT_EQ(curve.chart, "error_over_position");
    EXPECT_EQ(curve.series, kernel);
    ASSERT_EQ(curve.x.size(), 33u);
    EXPECT_EQ(curve.x.front(), 0);
    EXPECT_EQ(curve.x[31], 0x1p30);
    EXPECT_EQ(curve.x.back(), 0x1p31 - 1);
    EXPECT_EQ(curve.y.front(), 0) << kernel;
    for (std::size_t i = 1; i < curve.y.size(); ++i) {
      EXPECT_LT(curve.y[i], rounding) << kernel << " at " << curve.x[i];
      EXPECT_GT(curve.y[i], 0x1p-26) << kernel << " at " << curve.x[i];
    }
  }
}

TEST(PositionCurve, GrowsForAnF32AngleWhichIsHeldToTheTruth) {
  const CurveRow curve = curve_of("control_f32_angle");
  EXPECT_EQ(curve.note.find("contract f32_angle"), 0u) << curve.note;
  EXPECT_LT(error_at(curve, 1), 2 * rounding);
  // The angle is off by up to 2^-24 of itself, and so is the frequency.
  for (const double position : {0x1p10, 0x1p16, 0x1p20}) {
    EXPECT_GT(error_at(curve, position), position * 0x1p-26);
    EXPECT_LT(error_at(curve, position), position * 0x1p-22 + rounding);
  }
}

}  // namespace
}  // namespace ropewalk::properties
