// axial against the code of vision towers: each axis fills in its own pairs.
#include <gtest/gtest.h>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const auto axes = static_cast<std::int64_t>(given.get("axes"));
  const double order = error == "always in blocks" ? 0 : given.get("order");
  const std::int64_t half = given.dim / 2, each = half / axes + (half % axes == 0 ? 0 : 1);
  const bool dealt = order == 2 || error == "of the whole head";
  const auto lengths =
      radian_lengths(natural_log(given.theta), 2 * each * (dealt ? axes : std::int64_t{1}));
  StretchedPairs out;
  out.inv_freq.resize(static_cast<std::size_t>(each * axes));
  for (std::int64_t axis = 0; axis < axes; ++axis)
    for (std::int64_t k = 0; k < each; ++k) {
      const std::int64_t pair = order == 1 ? k * axes + axis : axis * each + k;
      const Wide& length = lengths[static_cast<std::size_t>(dealt ? k * axes + axis : k)];
      out.inv_freq[static_cast<std::size_t>(pair)] = Wide(1 / length).convert_to<double>();
    }
  out.inv_freq.resize(static_cast<std::size_t>(half));
  return out;
}

TEST(AxialRule, EqualsASecondDerivationToTheLastBit) {
  const auto draw = [](SeededDraw& seeded) {
    GivenToRule given = seeded.base();
    given.lists["axes"] = {seeded.of({2, 3})};
    given.lists["order"] = {seeded.of({0, 1, 2})};
    return given;
  };
  expect_equal("axial", draw, derived, {"always in blocks", "of the whole head"});
}

// The f32 values are of transformers 5.23.0, compute_axial_rope_parameters, within 4 u as those of
// linear are: Qwen2-VL's tower, and Pixtral's.
TEST(AxialRule, HasThePublishedFrequencies) {
  const GivenToRule qwen2 = {1e4, 80, {{"axes", {2}}, {"order", {0}}}};
  EXPECT_LT(distance_in_u("axial", qwen2, {0, 1, 10, 20, 39},
                          {1.0F, 0.630957305F, 0.00999999978F, 1.0F, 0.000158489333F}),
            4);
  const GivenToRule pixtral = {1e4, 64, {{"axes", {2}}, {"order", {2}}}};
  EXPECT_LT(distance_in_u(
                "axial", pixtral, {0, 1, 15, 16, 17, 31},
                {1.0F, 0.562341332F, 0.00017782794F, 0.749894202F, 0.421696514F, 0.00013335215F}),
            4);
  EXPECT_EQ(refused_key("axial", {1e4, 64, {{"axes", {4}}, {"order", {0}}}}), "axes");
}

}  // namespace
}  // namespace ropewalk
