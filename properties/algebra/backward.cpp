// Laws about the backward pass.
//
// transpose: the backward pass undoes the forward pass, R^T R x = a^2 x. Bound: there are two
// products and two rotations, the second on a vector as long as the first result:
// a^2 |x| (((1 + gamma u)(1 + | |r^| - 1 |))^2 - 1). The error of the angle cancels, because both
// passes use the same r^. With narrow storage the second result is rounded. The first is rounded
// too and then goes through the second product: |a| (1 + e) times its storage error.
// transpose kills by itself: backward_is_forward
//
// adjoint: the backward pass is the transpose of the forward pass, <R x, g> = <x, R^T g>. Bound:
// for one R^ both sides are exactly the same bilinear form. Each result is off by e times the
// length of its input, so the two dot products differ by at most 2 |a| e |x| |g|. With narrow
// storage, each result pair also adds its storage error times the length of its partner. Dot
// products are compared for each head and computed in double-double.
// adjoint kills by itself: backward_is_forward, stored_too_early
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check_transpose(Subject& subject, const Case& c) {
  require(c.operation == Operation::forward,
          "transpose: needs op=forward, as the property runs the backward pass itself");
  const Run there = run(subject, c);
  if (there.failed()) return there.failure;
  Case back = c;
  back.operation = Operation::transpose;
  Problem way_back = make_problem(back, subject.oracle);
  replace_pairs(way_back, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return output_at(there, static_cast<std::size_t>(placement), at, pair);
  });
  const Run here = run(subject, std::move(way_back));
  if (here.failed()) return here.failure;

  const double scale = scale_of(c);
  const DoubleDouble square = DoubleDouble(scale) * DoubleDouble(scale);
  Tally tally;
  for_each_pair(there, [&](std::size_t placement, const HeadPlace& at, std::int64_t i) {
    const bounds::Precision precision = precision_of(subject.facts, c, at.tensor);
    const double one_way = bounds::compound(bounds::product(precision.u, scale != 1),
                                            rotation_error(subject.facts, c, at.tensor));
    const PairValue x = input_pair(there.problem, static_cast<int>(placement), at, i);
    const PairValue y = output_at(here, placement, at, i);
    const PairValue expected{x.re * square, x.im * square};
    const double bound = magnitude(expected) * bounds::compound(one_way, one_way) +
                         2 * (1 + scale * scale) * bounds::underflow(precision, scale) +
                         std::abs(scale) * (1 + one_way) *
                             stored_error(precision, output_at(there, placement, at, i)) +
                         stored_error(precision, y);
    add_pair(tally, at, i, magnitude(y - expected), bound, magnitude(x) * precision.unit(), "u |x|",
             "forward, then transpose, did not give back the input");
  });
  return tally.finding();
}

Finding check_adjoint(Subject& subject, const Case& c) {
  // another seed must not move any position
  Case back = listed_positions(c);
  back.operation = reversed(c.operation);
  back.seed = hash(c.seed, 0xad1);
  const Run there = run(subject, c);
  if (there.failed()) return there.failure;
  const Run here = run(subject, back);
  if (here.failed()) return here.failure;
  const auto product = [](const PairValue& x, const PairValue& g) {
    return x.re * g.re + x.im * g.im;
  };
  Tally tally;
  for_each_rotated_head(there.problem.asked, [&](std::uint32_t tensor, std::int64_t b,
                                                 std::int64_t t, std::int64_t h) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double error = 2 * std::abs(scale_of(c)) * relative_error_of_one_call(subject, c, tensor);
    const HeadPlace at{tensor, b, t, h};
    for (const int placement : {0, 1}) {
      const auto side = static_cast<std::size_t>(placement);
      DoubleDouble forward, backward, x2, g2;
      double stored = 0;
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        const PairValue x = input_pair(there.problem, placement, at, i);
        const PairValue g = input_pair(here.problem, placement, at, i);
        const PairValue turned = output_at(there, side, at, i);
        const PairValue back_turned = output_at(here, side, at, i);
        forward = forward + product(turned, g);
        backward = backward + product(x, back_turned);
        stored += stored_error(precision, turned) * magnitude(g) +
                  stored_error(precision, back_turned) * magnitude(x);
        x2 = x2 + product(x, x);
        g2 = g2 + product(g, g);
      }
      const double lengths = std::sqrt(static_cast<double>(x2) * static_cast<double>(g2));
      const double bound = error * lengths + stored;
      tally.add(std::abs(static_cast<double>(forward - backward)), bound, [&](Finding& f) {
        f.where = place_text(tensor, b, t, h);
        f.bound = bound / (lengths * precision.unit());
        f.bound_unit = "u |x||g|";
        f.diagnosis = fmt::format("<Rx, g> = {:.9g}, <x, R^T g> = {:.9g}", forward.hi, backward.hi);
        f.reason = f.margin <= 1 ? "" : "backward is not the transpose of forward";
      });
    }
  });
  return tally.finding();
}

bool has_backward(const Offer& offer) {
  return offer.transpose;
}

void shape_transpose(Case& c, const Offer&) {
  c.operation = Operation::forward;
  c.data = DataPattern::unit;
}

const Registered backward[] = {
    Registered({.name = "transpose",
                .order = 70,
                .claim = "the backward pass undoes the forward pass",
                .applies = has_backward,
                .needs = "a backward pass",
                .shape = shape_transpose,
                .check = check_transpose}),
    Registered({.name = "adjoint",
                .order = 80,
                .claim = "the backward pass is the transpose of the forward pass",
                .applies = has_backward,
                .needs = "a backward pass",
                .shape = [](Case& c, const Offer&) { c.data = DataPattern::unit; },
                .check = check_adjoint})};

}  // namespace
}  // namespace ropewalk::properties
