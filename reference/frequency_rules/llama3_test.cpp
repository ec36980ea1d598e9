// llama3 against the published code, which compares wavelengths. The two shares of a frequency are
// joined into one factor.
#include <gtest/gtest.h>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const Wide factor = given.get("scaling_factor"), original = given.get("original_positions");
  Wide low = given.get("low_freq_factor"), high = given.get("high_freq_factor");
  if (error == "swapped") std::swap(low, high);
  StretchedPairs out;
  for (const Wide& length : radian_lengths(given)) {
    const Wide wavelength = boost::math::constants::two_pi<Wide>() * length;
    Wide stretch = 1;
    if (wavelength > original / low) {
      stretch = factor;
    } else if (wavelength >= original / high) {
      Wide smooth = (original / wavelength - low) / (high - low);
      if (error == "inverted") smooth = 1 - smooth;
      stretch = factor / (1 + smooth * (factor - 1));
    }
    out.inv_freq.push_back(Wide(1 / (stretch * length)).convert_to<double>());
  }
  return out;
}

GivenToRule given_to_llama(double factor, double low, double high) {
  GivenToRule given{5e5, 128, {{"scaling_factor", {factor}}, {"original_positions", {8192}}}};
  given.lists["low_freq_factor"] = {low};
  given.lists["high_freq_factor"] = {high};
  return given;
}

TEST(Llama3Rule, EqualsASecondDerivationToTheLastBit) {
  const auto draw = [](SeededDraw& seeded) {
    GivenToRule given = seeded.base();
    const double low = seeded.of({1, 1, seeded.between(0.01, 30)});
    given.lists = {{"scaling_factor", {seeded.factor()}},
                   {"low_freq_factor", {low}},
                   {"high_freq_factor", {low * seeded.of({1, 4, 4, seeded.between(1, 20)})}},
                   {"original_positions", {seeded.length()}}};
    return given;
  };
  expect_equal("llama3", draw, derived, {"swapped", "inverted"});
}

// The f32 values are of transformers 5.23.0, _compute_llama3_parameters. Outside the ramp they are
// within 4 u as those of linear are. In it the code takes turns - low, which cancels near low: at
// pair 33 with turns 1.2 an error of 6 u there is 2.3 u of kept, 12 u of the frequency.
TEST(Llama3Rule, HasThePublishedFrequencies) {
  const GivenToRule llama31 = given_to_llama(8, 1, 4);  // Llama-3.1-8B
  EXPECT_LT(distance_in_u("llama3", llama31, {0, 1, 28, 29, 31, 34, 35, 63},
                          {1.0F, 0.8146172F, 0.003211446F, 0.0021665706F, 0.00085675146F,
                           0.00017850779F, 9.556212e-05F, 3.068926e-07F}),
            4);
  EXPECT_LT(distance_in_u("llama3", llama31, {32, 33}, {0.000524846F, 0.00031269365F}), 12);
  // Llama-4-Scout-17B-16E, a step: 8192 turns / 2 pi >= 1 up to pair 34.
  EXPECT_LT(distance_in_u("llama3", given_to_llama(16, 1, 1), {0, 1, 34, 35, 63},
                          {1.0F, 0.8146172F, 0.00093847385F, 4.778106e-05F, 1.534463e-07F}),
            4);
}

TEST(Llama3Rule, RefusesALowAboveTheHighFactor) {
  EXPECT_EQ(refused_key("llama3", given_to_llama(8, 4, 1)), "low_freq_factor");
}

}  // namespace
}  // namespace ropewalk
