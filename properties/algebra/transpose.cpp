// Transpose: the backward pass undoes the forward pass, R^T R x = a^2 x.
//
// Bound: there are two products and two rotations, the second on a vector as long as the first
// result: a^2 |x| (((1 + gamma u)(1 + | |r^| - 1 |))^2 - 1). The error of the angle cancels,
// because both passes use the same r^. With narrow storage the second result is rounded. The first
// is rounded too and then goes through the second product: |a| (1 + e) times its storage error.
//
// Kills by itself: backward_is_forward
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/cases/checked.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  require(c.operation == Operation::forward,
          "transpose: needs op=forward, as the property runs the backward pass itself");
  const Run there = run(subject, c);
  if (there.failed()) return there.failure;
  Case back = c;
  back.operation = Operation::transpose;
  Problem way_back = make_problem(back, subject.oracle);
  replace_pairs(way_back, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return output_pair(there.problem, there.execution.outputs[static_cast<std::size_t>(placement)],
                       at.tensor, at.b, at.t, at.h, pair);
  });
  const Run here = run(subject, std::move(way_back));
  if (here.failed()) return here.failure;

  const double scale = scale_of(c);
  Tally tally;
  for_each_rotated_head(there.problem.asked, [&](std::uint32_t tensor, std::int64_t b,
                                                 std::int64_t t, std::int64_t h) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double one_way = bounds::compound(bounds::product(precision.u, scale != 1),
                                            rotation_error(subject.facts, c, tensor));
    const double both_ways = bounds::compound(one_way, one_way);
    for (int placement = 0; placement < 2; ++placement)
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        const PairValue x = input_pair(there.problem, placement, {tensor, b, t, h}, i);
        const PairValue y =
            output_pair(here.problem, here.execution.outputs[static_cast<std::size_t>(placement)],
                        tensor, b, t, h, i);
        const PairValue between =
            output_pair(there.problem, there.execution.outputs[static_cast<std::size_t>(placement)],
                        tensor, b, t, h, i);
        const PairValue expected{x.re * (DoubleDouble(scale) * DoubleDouble(scale)),
                                 x.im * (DoubleDouble(scale) * DoubleDouble(scale))};
        const double bound = magnitude(expected) * both_ways +
                             2 * (1 + scale * scale) * bounds::underflow(precision, scale) +
                             std::abs(scale) * (1 + one_way) * stored_error(precision, between) +
                             stored_error(precision, y);
        tally.add(magnitude(y - expected), bound, [&](Finding& f) {
          f.where = fmt::format("{} pair {}", place_text(tensor, b, t, h), i);
          f.bound = bound / (magnitude(x) * precision.unit());
          f.bound_unit = "u |x|";
          f.reason = f.margin <= 1 ? "" : "forward, then transpose, did not give back the input";
        });
      }
  });
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.transpose;
}

void shape(Case& c, const Offer&) {
  c.operation = Operation::forward;
  c.data = DataPattern::unit;
}

const Registered transpose({
    .name = "transpose",
    .order = 70,
    .claim = "the backward pass undoes the forward pass",
    .applies = applies,
    .needs = "a backward pass",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
