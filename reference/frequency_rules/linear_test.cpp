// linear against position interpolation as the paper says it: position m turns by the angles of
// position m / factor, so a pair needs as many times more positions for 1 rad.
#include <gtest/gtest.h>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const Wide factor = given.get("scaling_factor");
  StretchedPairs out;
  for (const Wide& length : radian_lengths(given))
    out.inv_freq.push_back(Wide(error == "exponent" ? exp(-factor * natural_log(length))  //
                                : error == "times"  ? factor / length
                                                    : 1 / (factor * length))
                               .convert_to<double>());
  return out;
}

TEST(LinearRule, EqualsASecondDerivationToTheLastBit) {
  const auto draw = [](SeededDraw& seeded) {
    GivenToRule given = seeded.base();
    given.lists = {{"scaling_factor", {seeded.factor()}}};
    return given;
  };
  expect_equal("linear", draw, derived, {"exponent", "times"});
}

// The f32 values are of transformers 5.23.0, _compute_linear_scaling_rope_parameters. The exponent
// 2i / 2^k is exact. powf is off by 1 ulp, 2 u, the quotients by 1 u each: 4 u.
TEST(LinearRule, HasThePublishedFrequencies) {
  // deepseek-coder-6.7b
  EXPECT_LT(distance_in_u("linear", {1e5, 128, {{"scaling_factor", {4}}}}, {0, 1, 31, 63},
                          {0.25F, 0.20884064F, 0.00094637886F, 2.9927126e-06F}),
            4);
  // gemma-3-4b, its full attention
  EXPECT_LT(distance_in_u("linear", {1e6, 256, {{"scaling_factor", {8}}}}, {0, 1, 64, 127},
                          {0.125F, 0.11221089F, 0.000125F, 1.3924674e-07F}),
            4);
}

TEST(LinearRule, RefusesAFactorBelowOne) {
  EXPECT_EQ(refused_key("linear", {1e4, 64, {{"scaling_factor", {0.5}}}}), "scaling_factor");
}

}  // namespace
}  // namespace ropewalk
