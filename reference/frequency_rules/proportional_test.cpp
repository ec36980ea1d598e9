// proportional against the code of Gemma 4: the turning elements of a head are counted first, and
// then their pairs.
#include <gtest/gtest.h>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const auto elements =
      static_cast<std::int64_t>(given.get("rotated_share", 1) * static_cast<double>(given.dim));
  const auto turning = static_cast<std::size_t>(elements / 2);
  const auto lengths = radian_lengths(
      natural_log(given.theta),
      error == "over the turning part" && elements > 1 ? elements / 2 * 2 : given.dim);
  StretchedPairs out;
  for (const Wide& length : lengths) {
    const bool turns = out.inv_freq.size() < turning || error == "rest turns";
    const Wide frequency = 1 / (length * given.get("scaling_factor", 1));
    out.inv_freq.push_back(turns ? frequency.convert_to<double>() : 0);
  }
  out.inv_freq.resize(static_cast<std::size_t>(given.dim / 2));
  return out;
}

TEST(ProportionalRule, EqualsASecondDerivationToTheLastBit) {
  const auto draw = [](SeededDraw& seeded) {
    GivenToRule given = seeded.base();
    if (seeded.below(8) != 0)
      given.lists["rotated_share"] = {seeded.of({0, 0.25, 0.5, 1, seeded.between(0, 1)})};
    if (seeded.below(2) != 0) given.lists["scaling_factor"] = {seeded.factor()};
    return given;
  };
  expect_equal("proportional", draw, derived, {"over the turning part", "rest turns"});
}

// gemma-4, its full attention. The f32 values are of transformers 5.23.0,
// _compute_proportional_rope_parameters, within 4 u as those of linear are.
TEST(ProportionalRule, HasThePublishedFrequencies) {
  const GivenToRule gemma4 = {1e6, 512, {{"rotated_share", {0.25}}}};
  EXPECT_LT(distance_in_u("proportional", gemma4, {0, 1, 32, 63, 64, 255},
                          {1.0F, 0.9474635F, 0.17782794F, 0.033376247F, 0.0F, 0.0F}),
            4);
}

TEST(ProportionalRule, RefusesAShareAboveOne) {
  EXPECT_EQ(refused_key("proportional", {1e4, 64, {{"rotated_share", {1.5}}}}), "rotated_share");
}

}  // namespace
}  // namespace ropewalk
