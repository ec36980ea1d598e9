// Composition: turning by a and then by s is turning by a + s, R_s R_a = R_(a+s).
//
// Bound: for one call let e = (1 + gamma u)(1 + |r^ - r|) - 1. Two calls in a row are off by (1 +
// e)^2 - 1 and the single call by e, so rho ((1 + e)^2 - 1 + e). Under the f32_angle contract the
// angles are off by delta, known for each position, which adds to |r^ - r|. With narrow storage all
// three results are rounded. The last two are rounded as they are. The first is rounded like any
// pair of length (1 + e) rho, and then turned once more.
//
// Kills by itself: position_in_bf16, position_clamped, one_term_reduction, angle_in_f32
#include <algorithm>
#include <utility>

#include "harness/cases/checked.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  require(!c.own_tables && scale_of(c) == 1,
          "composition: needs own_tables=0 and attention_scale 0 or 1");
  const Run first = run(subject, c);
  if (first.failed()) return first.failure;
  Problem further =
      make_problem(with_positions(c, [&](std::int64_t) { return c.shift; }), subject.oracle);
  replace_pairs(further, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return output_pair(first.problem, first.execution.outputs[static_cast<std::size_t>(placement)],
                       at.tensor, at.b, at.t, at.h, pair);
  });
  const Run second = run(subject, std::move(further));
  if (second.failed()) return second.failure;
  Problem whole =
      make_problem(with_positions(c, [&](std::int64_t p) { return p + c.shift; }), subject.oracle);
  copy_heads(first.problem, whole, [](const HeadPlace& at) { return at; });
  const Run at_once = run(subject, std::move(whole));
  if (at_once.failed()) return at_once.failure;

  const double delta = std::max(
      {angle_error(first.problem), angle_error(second.problem), angle_error(at_once.problem)});
  Tally tally;
  compare(subject, at_once, second,
          {"two turns in a row are not the one turn by their sum", nullptr, nullptr,
           [&](double rho, std::uint32_t tensor) {
             const bounds::Precision precision = precision_of(subject.facts, c, tensor);
             const double e = bounds::compound(bounds::product(precision.u, false),
                                               rotation_error(subject.facts, c, tensor) + delta);
             return rho * (bounds::compound(e, e) + e) + 3 * bounds::underflow(precision, 1) +
                    (1 + e) * bounds::stored_error_of_length(precision, (1 + e) * rho);
           },
           1, "one turn by the sum", "two turns"},
          tally);
  return tally.finding();
}

void shape(Case& c, const Offer&) {
  c.data = DataPattern::unit;
  c.own_tables = false;
  c.attention_scale = 0;
  keep_room_for_shift(c);
}

const Registered composition({
    .name = "composition",
    .order = 90,
    .claim = "turning twice is turning once by the sum",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
