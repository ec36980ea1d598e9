// Laws of positions with axes (rope_axes). None needs the oracle.
//
// equal_axes: where all axes of a token have one position, the call is that without axes. Bound:
// the same bits if ROPE_BITWISE_INVARIANT promises them, else 2 e rho with the error e of one call,
// as both turn by the same exact angles, plus both storage errors.
// equal_axes kills by itself: plane_stride_is_tokens_exact, axis_tables_taken_as_dense_table
//
// axis_alone: the pairs of an axis are turned as in a call without axes at the positions of that
// axis; and where the positions of one axis change, the pairs of the others stay. Bound: as above.
// axis_alone kills by itself: first_axis_for_all_table, sections_off_by_one_exact
// axis_alone kills by itself: text_if_two_axes_are_equal_exact, decode_without_axes_exact
//
// axes_permuted: axes in another order, with a map that follows them, change nothing. Bound: as
// above.
// axes_permuted kills by itself: height_and_width_swapped_exact, axes_in_turn_as_sections_exact
//
// That q.k depends on the differences of each axis alone is judged by relative_position.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/cases/axes.h"
#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

using Positions = std::vector<std::int64_t>;

Positions plane_of(const Case& c, std::int64_t axis) {
  const Positions all = positions_of(c);
  const auto begin = all.begin() + axis * c.batch * c.tokens;
  return {begin, begin + c.batch * c.tokens};
}

Case with_list(Case c, Positions positions) {
  c.positions = std::move(positions);
  c.position_rule = PositionRule::list;
  return c;
}

// The call without axes, at the positions of one.
Case without_axes(const Case& c, std::int64_t axis) {
  Case out = c;
  drop_axes(out);
  return with_list(std::move(out), plane_of(c, axis));
}

void require_axes(const Case& c) {
  require(c.axes > 1, "{}: needs axes=2 to 4", c.property);
}

Finding check_equal_axes(Subject& subject, const Case& c) {
  require_axes(c);
  const Positions positions = positions_of(c), first = plane_of(c, 0);
  for (std::int64_t a = 1; a < c.axes; ++a)
    require(plane_of(c, a) == first, "equal_axes: needs equal positions on all axes");
  return compare_two(subject, run(subject, without_axes(c, 0)), run(subject, c),
                     the_same(subject, c, "equal positions on all axes differ from one position"));
}

Finding check_axis_alone(Subject& subject, const Case& c) {
  require_axes(c);
  const Run whole = run(subject, c);
  if (whole.failed()) return whole.failure;
  const auto of_axis = [&](std::int64_t axis, bool own) {
    return [&c, axis, own](std::int64_t pair) {
      return (static_cast<std::int64_t>(axis_of(c.axis_of_pair, pair)) == axis) == own;
    };
  };
  Tally tally;
  for (std::int64_t axis = 0; axis < c.axes; ++axis) {
    if (std::ranges::find(c.axis_of_pair, axis) == c.axis_of_pair.end()) continue;
    Law law = the_same(subject, c, "a pair differs from the call without axes at its axis");
    law.only = of_axis(axis, true);
    const Run plain = run(subject, without_axes(c, axis));
    if (plain.failed()) return plain.failure;
    compare(subject, plain, whole, law, tally);
  }
  const auto moved =
      static_cast<std::int64_t>(hash(c.seed, 0xa15) % static_cast<std::uint64_t>(c.axes));
  Positions positions = positions_of(c);
  const std::int64_t plane = c.batch * c.tokens;
  for (std::int64_t i = moved * plane; i < (moved + 1) * plane; ++i)
    positions[static_cast<std::size_t>(i)] += positions[static_cast<std::size_t>(i)] > 0 ? -1 : 1;
  if (c.position_axis_stride == 0) return tally.finding();  // no axis changes alone
  const Run changed = run(subject, with_list(c, std::move(positions)));
  if (changed.failed()) return changed.failure;
  Law law = the_same(subject, c, "other positions of one axis change a pair of another");
  law.only = of_axis(moved, false);
  compare(subject, whole, changed, law, tally);
  return tally.finding();
}

Finding check_axes_permuted(Subject& subject, const Case& c) {
  require_axes(c);
  Case other = c;
  std::vector<std::int64_t> from;  // the axis that becomes axis a
  for (std::int64_t a = 0; a < c.axes; ++a) from.push_back(a);
  const auto by = 1 + hash(c.seed, 0xa16) % static_cast<std::uint64_t>(c.axes - 1);
  std::rotate(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(by), from.end());
  if (c.axes > 2 && hash(c.seed, 0xa18) % 2 == 0) std::swap(from[0], from[1]);
  Positions positions;
  for (const std::int64_t a : from) {
    const Positions plane = plane_of(c, a);
    positions.insert(positions.end(), plane.begin(), plane.end());
  }
  for (std::uint8_t& axis : other.axis_of_pair)
    axis = static_cast<std::uint8_t>(std::ranges::find(from, axis) - from.begin());
  return compare_two(subject, run(subject, c), run(subject, with_list(other, positions)),
                     the_same(subject, c, "axes in another order change the result"));
}

void shape_equal(Case& c, const Offer& offer) {
  give_axes(c, offer);
  c.axis_positions = AxisPositions::equal;
}

// A picture after text, and one token, as a prompt and a decode step have them.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  for (const std::int64_t tokens : {48, 1}) {
    Case c = with(widened(offer.base, offer), offer,
                  fmt::format("position_from=3; batch=2; tokens={}; heads=3; tensors=2", tokens));
    give_axes(c, offer);
    if (tokens > 1) c.axis_positions = AxisPositions::picture;
    cases.push_back(c);
  }
  return cases;
}

const Registered laws[] = {
    Registered({.name = "equal_axes",
                .place = {"axes", 152},
                .claim = "equal positions on all axes are one position",
                .needs = {{Factor::axes}},
                .shape = shape_equal,
                .check = check_equal_axes}),
    Registered({.name = "axis_alone",
                .place = {"axes", 154},
                .claim = "each axis turns its own pairs, and no others",
                .needs = {{Factor::axes}},
                .shape = give_axes,
                .fixed_cases = fixed_cases,
                .check = check_axis_alone}),
    Registered({.name = "axes_permuted",
                .place = {"axes", 156},
                .claim = "axes in another order, with their map, change nothing",
                .needs = {{Factor::axes}},
                .shape = give_axes,
                .check = check_axes_permuted})};

}  // namespace
}  // namespace ropewalk::properties
