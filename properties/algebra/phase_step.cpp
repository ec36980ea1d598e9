// Phase step: each step of one position turns by the same angle, r_(m+1) = r_m r_1.
//
// Bound: the inputs are (1, 0), so each output is the rotation itself, without a rounded product.
// With d = |r^ - r|, |r^_(m+1) - r^_m r^_1| <= d + (1 + d)^2 - 1. Under the f32_angle contract,
// delta adds to d. With narrow storage each of the three has a d of its own, larger by its storage
// error. For an angle that is wrong at single positions, this bound is two to four times
// sharper than that of composition, which has three products in it.
//
// Kills by itself: position_in_bf16, one_term_reduction, angle_in_f32, pairing_swapped
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/cases/checked.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  require(!c.own_tables && scale_of(c) == 1 && c.shift == 1,
          "phase_step: needs own_tables=0, shift=1 and attention_scale 0 or 1");
  const auto turn = [&](const std::function<std::int64_t(std::int64_t)>& position) {
    Problem problem = make_problem(with_positions(c, position), subject.oracle);
    replace_pairs(problem, [](int, const HeadPlace&, std::int64_t) {
      return PairValue{DoubleDouble(1), DoubleDouble(0)};
    });
    return run(subject, std::move(problem));
  };
  const Run here = turn([](std::int64_t p) { return p; });
  if (here.failed()) return here.failure;
  const Run next = turn([](std::int64_t p) { return p + 1; });
  if (next.failed()) return next.failure;
  const Run step = turn([](std::int64_t) { return 1; });
  if (step.failed()) return step.failure;

  const double angle =
      std::max({angle_error(here.problem), angle_error(next.problem), angle_error(step.problem)});
  Tally tally;
  for_each_rotated_head(here.problem.asked, [&](std::uint32_t tensor, std::int64_t b,
                                                std::int64_t t, std::int64_t h) {
    const double d = rotation_error(subject.facts, c, tensor) + angle;
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    for (std::size_t placement = 0; placement < 2; ++placement)
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        const auto r = [&](const Run& of) {
          return output_pair(of.problem, of.execution.outputs[placement], tensor, b, t, h, i);
        };
        const auto off = [&](const Run& of) { return d + stored_error(precision, r(of)); };
        const double error = magnitude(r(next) - rotate(r(here), r(step)));
        const double bound = off(next) + bounds::compound(off(here), off(step));
        tally.add(error, bound, [&](Finding& f) {
          f.where = fmt::format("{} pair {}", place_text(tensor, b, t, h), i);
          f.bound = bound / precision.unit();
          f.bound_unit = "u";
          f.reason = f.margin <= 1 ? "" : "one position further is not one step more";
        });
      }
  });
  return tally.finding();
}

void shape(Case& c, const Offer&) {
  c.data = DataPattern::unit;
  c.own_tables = false;
  c.attention_scale = 0;
  keep_room_for_shift(c);
  c.shift = 1;
}

const Registered phase_step({
    .name = "phase_step",
    .order = 100,
    .claim = "every step of one position turns by the same angle",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
