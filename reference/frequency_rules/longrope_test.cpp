// longrope against the code of Phi-3: a pair needs as many times more positions for 1 rad as its
// list says.
#include <gtest/gtest.h>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const double original = given.get("original_positions"), context = given.get("context");
  const bool beyond = error == "always long" || context > original ||
                      (error == "long at the boundary" && context == original);
  const auto& factors = given.lists.at(beyond ? "long_factor" : "short_factor");
  const auto lengths = radian_lengths(given);
  StretchedPairs out;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Wide factor = factors[error == "of the next pair" ? (i + 1) % factors.size() : i];
    out.inv_freq.push_back(Wide(error == "exponent" ? exp(-factor * natural_log(lengths[i]))
                                                    : 1 / (factor * lengths[i]))
                               .convert_to<double>());
  }
  const Wide factor = given.get("scaling_factor", 1);
  // ln(original factor) / ln(original) is 1 + ln(factor) / ln(original).
  out.scale =
      given.lists.contains("attention_factor")
          ? given.get("attention_factor")
          : Wide(sqrt(natural_log(original * factor) / natural_log(original))).convert_to<double>();
  return out;
}

GivenToRule drawn(SeededDraw& seeded) {
  GivenToRule given = seeded.base();
  const double original = seeded.length();
  given.lists = {{"original_positions", {original}}};
  for (std::int64_t i = 0; i < given.dim / 2; ++i) {
    given.lists["short_factor"].push_back(seeded.of({1, 1.05, seeded.between(0.25, 3)}));
    given.lists["long_factor"].push_back(seeded.of({1.08, 64, seeded.between(0.25, 100)}));
  }
  if (seeded.below(8) != 0) given.lists["context"] = {seeded.context(original)};
  if (seeded.below(4) != 0) given.lists["scaling_factor"] = {seeded.factor()};
  if (seeded.below(4) == 0) given.lists["attention_factor"] = {seeded.between(0.5, 2)};
  return given;
}

TEST(LongropeRule, EqualsASecondDerivationToTheLastBit) {
  expect_equal("longrope", drawn, derived,
               {"always long", "long at the boundary", "of the next pair", "exponent"});
}

/// Phi-3-vision-128k-instruct, with its factors as f32, as the code rounds them. The context picks
/// the list.
GivenToRule phi3(double context) {
  GivenToRule given{
      1e4, 96, {{"original_positions", {4096}}, {"context", {context}}, {"scaling_factor", {32}}}};
  for (const float factor :
       {1.05F, 1.05F, 1.05F, 1.1F, 1.1F, 1.1F,  1.25F, 1.25F, 1.4F,  1.45F, 1.55F, 1.85F,
        1.9F,  2.0F,  2.0F,  2.0F, 2.0F, 2.0F,  2.0F,  2.0F,  2.0F,  2.0F,  2.0F,  2.0F,
        2.0F,  2.0F,  2.0F,  2.0F, 2.0F, 2.0F,  2.0F,  2.0F,  2.1F,  2.1F,  2.2F,  2.35F,
        2.35F, 2.35F, 2.35F, 2.4F, 2.4F, 2.65F, 2.7F,  2.9F,  2.95F, 3.05F, 3.05F, 3.05F})
    given.lists["short_factor"].push_back(static_cast<double>(factor));
  for (const float factor :
       {1.03F,      1.05F,      1.05F,      1.0799999F, 1.2299999F, 1.2299999F,  1.3F,
        1.4499999F, 1.5999999F, 1.6499999F, 1.8999999F, 2.86F,      3.6899998F,  5.4199996F,
        5.49F,      5.49F,      9.09F,      11.58F,     15.66F,     15.7699995F, 15.79F,
        18.36F,     21.99F,     23.08F,     30.009998F, 32.350002F, 32.590004F,  35.560005F,
        39.950005F, 53.840004F, 56.200005F, 57.950005F, 59.290005F, 59.770004F,  59.920006F,
        61.190006F, 61.960007F, 62.500008F, 63.370007F, 63.480007F, 63.480007F,  63.660007F,
        63.850006F, 64.08001F,  64.76001F,  64.80001F,  64.81001F,  64.81001F})
    given.lists["long_factor"].push_back(static_cast<double>(factor));
  return given;
}

// The f32 values are of transformers 5.23.0, _compute_longrope_parameters. powf is off by 2 u, the
// product and the quotient by 1 u each. 2i / 96 is no f32: from 1/2 on it is off by up to u / 2,
// which is ln(10000) / 2 = 4.6 u of the frequency.
TEST(LongropeRule, HasThePublishedFrequenciesAndScale) {
  EXPECT_LT(distance_in_u("longrope", phi3(4096), {0, 1, 24, 43, 47},
                          {0.952381F, 0.78609926F, 0.005F, 9.0005444e-05F, 3.9722214e-05F}),
            8.6);
  EXPECT_LT(distance_in_u("longrope", phi3(4097), {0, 4, 24, 29, 47},
                          {0.97087383F, 0.37736496F, 0.0003332223F, 7.115872e-05F, 1.8693523e-06F}),
            8.6);
  EXPECT_EQ(by_rule("longrope", phi3(0)).scale, 1.1902380714238083);
}

TEST(LongropeRule, RefusesAFactorThatIsTooSmall) {
  GivenToRule given = phi3(0);
  given.lists["long_factor"][47] = 0.2;
  EXPECT_EQ(refused_key("longrope", given), "long_factor");
}

}  // namespace
}  // namespace ropewalk
