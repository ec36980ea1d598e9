#include "harness/cases/axes.h"

#include <gtest/gtest.h>

#include "harness/cases/problem.h"

namespace ropewalk::harness {
namespace {

using Map = std::vector<std::uint8_t>;
using Positions = std::vector<std::int64_t>;

TEST(AxisMap, IsShortAsText) {
  Map sections(16, 0), in_turn;
  sections.resize(40, 1);
  sections.resize(64, 2);
  for (std::uint8_t i = 0; i < 60; ++i) in_turn.push_back(i % 3);
  in_turn.resize(64, 0);
  EXPECT_EQ(map_text(sections), "0*16,1*24,2*24");
  EXPECT_EQ(map_text(in_turn), "(0,1,2)*20,0*4");
  EXPECT_EQ(map_text({2}), "2");
  EXPECT_EQ(map_of_text("0*16,1*24,2*24"), sections);
  EXPECT_EQ(map_of_text("(0,1,2)*20,0*4"), in_turn);
  for (const char* wrong :
       {"", "4", "0*", "0*0", "(0,1", "0,", "0x", "()*3", "0*40000", "0*99999999999"})
    EXPECT_EQ(map_of_text(wrong), Map{}) << wrong;
}

Case case_of(const std::string& words) {
  Case c = case_from_text("axes=3 rotary_dim=6 axis_of_pair=0,1,2 q.head_dim=6 " + words);
  validate(c);
  return c;
}

TEST(AxisPositions, AreThoseOfAPictureAfterText) {
  const Positions time{5, 6, 7, 7, 7, 7}, rows{5, 6, 7, 7, 8, 8}, columns{5, 6, 7, 8, 7, 8};
  for (std::int64_t t = 0; t < 6; ++t)
    for (const auto& [axis, wanted] : {std::pair{0, time}, {1, rows}, {2, columns}})
      EXPECT_EQ(picture_position(axis, t, 2, 2, 7, 5 + t), wanted[static_cast<std::size_t>(t)]);
  const Positions all = positions_of(case_of("tokens=6 positions=from:5:1 axis_positions=picture"));
  EXPECT_EQ(Positions(all.begin(), all.begin() + 6), time);
}

TEST(AxisPositions, AreApartAndInRange) {
  const auto plane = [](const Positions& all, std::ptrdiff_t axis) {
    return Positions(all.begin() + 8 * axis, all.begin() + 8 * (axis + 1));
  };
  for (const char* from : {"from:0:1", "from:2147483640:1", "from:-2147483648:1", "random:-9:9"}) {
    const std::string words = std::string("contract=exact batch=2 tokens=4 positions=") + from;
    const Positions equal = positions_of(case_of(words)),
                    apart = positions_of(case_of(words + " axis_positions=apart"));
    EXPECT_EQ(plane(equal, 0), plane(equal, 1));
    EXPECT_NE(plane(apart, 0), plane(apart, 1));
    EXPECT_EQ(plane(apart, 0), plane(equal, 0));
  }
}

TEST(AxisPositions, LieAxisByAxisWithTablesBehindEachOther) {
  Oracle oracle;
  const Case c = case_of(
      "rows_by=token batch=2 positions=1,2,3,4,5,6 position_axis_stride=3 table_axis_stride=7");
  const Problem p = make_problem(c, oracle);
  const auto& positions = p.buffers[static_cast<std::size_t>(p.buffer(Operand::positions))].content;
  ASSERT_EQ(positions.size(), 8 * sizeof(std::int32_t));
  const auto& cos = p.buffers[static_cast<std::size_t>(p.buffer(Operand::cos))].content;
  for (std::int64_t axis = 0; axis < 3; ++axis)
    for (std::int64_t b = 0; b < 2; ++b) {
      EXPECT_EQ(load_as<std::int32_t>(positions, 3 * axis + b), 1 + 2 * axis + b);
      const double angle = static_cast<double>(1 + 2 * axis + b);  // of pair 0, whose inv_freq is 1
      EXPECT_EQ(load(cos, Dtype::f32, 7 * axis + 3 * b),
                double{static_cast<float>(std::cos(angle))});
      EXPECT_EQ(position_of(p, 0, b, 0, axis), 1 + 2 * axis + b);
    }
  EXPECT_EQ(p.other_positions, (Positions{2, 1, 4, 3, 6, 5}));
}

TEST(AxisPositions, LoseTheLastAxisFirst) {
  const Case c = case_of("positions=1,2,3"), two = with_fewer_axes(c), one = with_fewer_axes(two);
  EXPECT_EQ(two.positions, (Positions{1, 2}));
  EXPECT_EQ(two.axis_of_pair, (Map{0, 1, 1}));
  EXPECT_EQ(one.axes, 1);
  EXPECT_EQ(one.positions, Positions{1});
  validate(two);
  validate(one);
}

}  // namespace
}  // namespace ropewalk::harness
