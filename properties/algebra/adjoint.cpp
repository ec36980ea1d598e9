// Adjoint: the backward pass is the transpose of the forward pass, <R x, g> = <x, R^T g>.
//
// Bound: for one R^ both sides are exactly the same bilinear form. Each result is off by e times
// the length of its input, so the two dot products differ by at most 2 |a| e |x| |g|. With narrow
// storage, each result pair also adds its storage error times the length of its partner. Dot
// products are compared for each head and computed in double-double.
//
// Kills by itself: backward_is_forward, stored_too_early
#include <fmt/format.h>

#include <cmath>

#include "harness/cases/data.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

struct Sum {
  DoubleDouble dot, left2, right2;
  void add(const PairValue& x, const PairValue& g) { dot = dot + (x.re * g.re + x.im * g.im); }
  void add_lengths(const PairValue& x, const PairValue& g) {
    left2 = left2 + (x.re * x.re + x.im * x.im);
    right2 = right2 + (g.re * g.re + g.im * g.im);
  }
};

Finding check(Subject& subject, const Case& c) {
  // another seed must not move any position
  Case back = with_positions(c, [](std::int64_t p) { return p; });
  back.operation = reversed(c.operation);
  back.seed = hash(c.seed, 0xad1);
  const Run there = run(subject, c);
  if (there.failed()) return there.failure;
  const Run here = run(subject, back);
  if (here.failed()) return here.failure;
  Tally tally;
  for_each_rotated_head(there.problem.asked, [&](std::uint32_t tensor, std::int64_t b,
                                                 std::int64_t t, std::int64_t h) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double error = 2 * std::abs(scale_of(c)) * relative_error_of_one_call(subject, c, tensor);
    for (std::size_t placement = 0; placement < 2; ++placement) {
      const Outputs& y = there.execution.outputs[placement];
      const Outputs& z = here.execution.outputs[placement];
      Sum forward, backward;
      double stored = 0;
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        const PairValue x = input_pair(there.problem, y, tensor, b, t, h, i);
        const PairValue g = input_pair(here.problem, z, tensor, b, t, h, i);
        const PairValue turned = output_pair(there.problem, y, tensor, b, t, h, i);
        const PairValue back_turned = output_pair(here.problem, z, tensor, b, t, h, i);
        forward.add(turned, g);
        backward.add(x, back_turned);
        stored += stored_error(precision, turned) * magnitude(g) +
                  stored_error(precision, back_turned) * magnitude(x);
        forward.add_lengths(x, g);
      }
      const double lengths =
          std::sqrt(static_cast<double>(forward.left2) * static_cast<double>(forward.right2));
      const double bound = error * lengths + stored;
      tally.add(std::abs(static_cast<double>(forward.dot - backward.dot)), bound, [&](Finding& f) {
        f.where = place_text(tensor, b, t, h);
        f.bound = bound / (lengths * precision.unit());
        f.bound_unit = "u |x||g|";
        f.diagnosis =
            fmt::format("<Rx, g> = {:.9g}, <x, R^T g> = {:.9g}", forward.dot.hi, backward.dot.hi);
        f.reason = f.margin <= 1 ? "" : "backward is not the transpose of forward";
      });
    }
  });
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.transpose;
}

void shape(Case& c, const Offer&) {
  c.data = DataPattern::unit;
}

const Registered adjoint({
    .name = "adjoint",
    .order = 80,
    .claim = "the backward pass is the transpose of the forward pass",
    .applies = applies,
    .needs = "a backward pass",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
