// dynamic and dynamic_ratio in logarithms: the base grows by e^(d / (d - 2) ln(growth)).
#include <gtest/gtest.h>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

StretchedPairs with_growth(const GivenToRule& given, const Wide& growth, std::string_view error) {
  const Wide dim = given.dim, exponent = dim / (dim - (error == "exponent" ? 1 : 2));
  StretchedPairs out;
  for (const Wide& length :
       radian_lengths(natural_log(given.theta) + exponent * natural_log(growth), given.dim))
    out.inv_freq.push_back(Wide(1 / length).convert_to<double>());
  return out;
}

// The code takes the larger of the two lengths, and a model without a context its original one.
Wide stretch_of(const GivenToRule& given, std::string_view error) {
  Wide original = given.get("original_positions");
  Wide context = given.get("context", given.get("original_positions"));
  if (error == "swapped") std::swap(original, context);
  return (context > original ? context : original) / original;
}

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const Wide factor = given.get("scaling_factor");
  return with_growth(given, 1 + factor * (stretch_of(given, error) - 1), error);
}

StretchedPairs derived_ratio(const GivenToRule& given, std::string_view error) {
  return with_growth(given, stretch_of(given, error), error);
}

GivenToRule drawn(SeededDraw& seeded) {
  GivenToRule given = seeded.base();
  const double original = seeded.length();
  given.lists = {{"scaling_factor", {seeded.factor()}}, {"original_positions", {original}}};
  if (seeded.below(8) != 0) given.lists["context"] = {seeded.context(original)};
  return given;
}

TEST(DynamicRule, EqualsASecondDerivationToTheLastBit) {
  expect_equal("dynamic", drawn, derived, {"exponent", "swapped"});
  expect_equal("dynamic_ratio", drawn, derived_ratio, {"exponent", "swapped"});
}

// internlm2_5-7b-chat at 131072 positions. The f32 values are of transformers 5.23.0,
// _compute_dynamic_ntk_parameters; its base is a double, rounded once to f32, which costs a pair
// at most 1 u, and the exponent 2i / 128 is exact. With powf, 2 u, and the quotient: 4 u.
TEST(DynamicRule, HasThePublishedFrequencies) {
  const GivenToRule internlm = {
      1e6, 128, {{"scaling_factor", {2}}, {"original_positions", {32768}}, {"context", {131072}}}};
  EXPECT_LT(distance_in_u("dynamic", internlm, {0, 1, 16, 32, 63},
                          {1.0F, 0.78133225F, 0.019291762F, 0.00037217213F, 1.7727682e-07F}),
            4);
}

TEST(DynamicRule, RefusesASinglePair) {
  for (const char* rule : {"dynamic", "dynamic_ratio"})
    EXPECT_EQ(refused_key(rule, {1e4, 2, {{"scaling_factor", {2}}, {"original_positions", {64}}}}),
              "rotary_dim");
}

}  // namespace
}  // namespace ropewalk
