// axial against the code of vision towers: each axis fills in its own pairs.
#include <gtest/gtest.h>

#include "reference/testing/second_form.h"

namespace ropewalk {
namespace {

StretchedPairs derived(const GivenToRule& given, std::string_view error) {
  const auto axes = static_cast<std::size_t>(given.get("axes"));
  const auto half = static_cast<std::size_t>(given.dim / 2), each = (half + axes - 1) / axes;
  const bool in_turn = given.get("order") == 1 && error != "in blocks";
  const std::size_t step = given.get("order") == 2 ? axes : 1;
  const auto lengths = radian_lengths(natural_log(given.theta), std::int64_t(2 * each * step));
  StretchedPairs out;
  out.inv_freq.resize(each * axes);
  for (std::size_t axis = 0; axis < axes; ++axis)
    for (std::size_t k = 0; k < each; ++k)
      out.inv_freq[in_turn ? k * axes + axis : axis * each + k] =
          Wide(1 / lengths[k * step + (step > 1 ? axis : 0)]).convert_to<double>();
  out.inv_freq.resize(half);
  return out;
}

TEST(AxialRule, EqualsASecondDerivationToTheLastBit) {
  const auto draw = [](SeededDraw& seeded) {
    GivenToRule given = seeded.base();
    given.lists = {{"axes", {seeded.of({2, 3})}}, {"order", {seeded.of({0, 1, 2})}}};
    return given;
  };
  expect_equal("axial", draw, derived, {"in blocks"});
}

// Pixtral's, f32 values of transformers 5.23.0, within 4 u as those of linear are.
TEST(AxialRule, HasThePublishedFrequencies) {
  EXPECT_LT(distance_in_u("axial", {1e4, 64, {{"axes", {2}}, {"order", {2}}}}, {1, 16, 31},
                          {0.562341332F, 0.749894202F, 0.00013335215F}),
            4);
}

}  // namespace
}  // namespace ropewalk
