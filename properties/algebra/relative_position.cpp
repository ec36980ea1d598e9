// Relative position: q.k depends on m - n only. All positions are shifted by s, and every dot
// product between two tokens must stay the same (RoFormer, section 3.1, eq. 11).
//
// Bound: a rotated vector is off by at most |x| e with e = (1 + gamma u)(1 + |r^ - r|) - 1. So a
// dot product is off by a^2 |q| |k| ((1 + e)^2 - 1), and the difference of two by twice that. Under
// the f32_angle contract the angles are off by delta, known for each position, which adds to |r^ -
// r|. With narrow storage let dq and dk be the storage errors of a pair of q and of k. They move
// each dot product by up to sum (dq |k| + |q| dk + dq dk), with the lengths of the stored pairs.
//
// Kills by itself: position_in_bf16, position_clamped, one_term_reduction
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/cases/checked.h"
#include "harness/judge/judge.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

struct HeadRef {
  std::uint32_t tensor;
  std::int64_t h;
};

struct Dot {
  DoubleDouble value;  ///< q.k of the outputs
  double norms;        ///< |q| |k| of the inputs
  double stored;       ///< largest change of value by storing the outputs
};

Dot dot(const Subject& subject, const Run& run, std::size_t placement, std::int64_t b, HeadRef q,
        std::int64_t m, HeadRef k, std::int64_t n) {
  const Case& c = run.problem.source;
  const bounds::Precision of_q = precision_of(subject.facts, c, q.tensor),
                          of_k = precision_of(subject.facts, c, k.tensor);
  const Problem& p = run.problem;
  const Outputs& outputs = run.execution.outputs[placement];
  DoubleDouble sum, q2, k2;
  double stored = 0;
  for (std::int64_t i = 0; i < p.asked.rotary_dim / 2; ++i) {
    const PairValue yq = output_pair(p, outputs, q.tensor, b, m, q.h, i);
    const PairValue yk = output_pair(p, outputs, k.tensor, b, n, k.h, i);
    sum = sum + (yq.re * yk.re + yq.im * yk.im);
    if (of_q.stored_u > 0 || of_k.stored_u > 0) {
      const double dq = stored_error(of_q, yq), dk = stored_error(of_k, yk);
      stored += dq * magnitude(yk) + magnitude(yq) * dk + dq * dk;
    }
    const PairValue xq = input_pair(p, outputs, q.tensor, b, m, q.h, i);
    const PairValue xk = input_pair(p, outputs, k.tensor, b, n, k.h, i);
    q2 = q2 + (xq.re * xq.re + xq.im * xq.im);
    k2 = k2 + (xk.re * xk.re + xk.im * xk.im);
  }
  return {sum, std::sqrt(static_cast<double>(q2) * static_cast<double>(k2)), stored};
}

// Compares every pair of tokens of one batch row and placement.
void compare(const Subject& subject, const Run& here, const Run& there, std::size_t placement,
             std::int64_t b, HeadRef q, HeadRef k, double angle, Tally& tally) {
  const Case& c = here.problem.source;
  const double scale = scale_of(c);
  // Relative to its length, how far an output of this tensor may be from the exact rotation.
  const auto error_of = [&](std::uint32_t tensor) {
    return bounds::compound(bounds::product(precision_of(subject.facts, c, tensor).u, scale != 1),
                            rotation_error(subject.facts, c, tensor) + angle);
  };
  const double error = bounds::compound(error_of(q.tensor), error_of(k.tensor));
  const double unit = precision_of(subject.facts, c, q.tensor).unit();
  for (std::int64_t m = 0; m < c.tokens; ++m)
    for (std::int64_t n = 0; n < c.tokens; ++n) {
      const Dot before = dot(subject, here, placement, b, q, m, k, n);
      const Dot after = dot(subject, there, placement, b, q, m, k, n);
      const double bound = 2 * scale * scale * before.norms * error + before.stored + after.stored;
      tally.add(std::abs(static_cast<double>(before.value - after.value)), bound, [&](Finding& f) {
        f.where = fmt::format("{} . {} shifted by {}", place_text(q.tensor, b, m, q.h),
                              place_text(k.tensor, b, n, k.h), c.shift);
        f.bound = before.norms > 0 ? bound / (before.norms * unit) : 0;
        f.bound_unit = "u |q||k|";
        const auto at = [&](const Run& run, std::int64_t token) {
          return position_of(run.problem, static_cast<int>(placement), b, token);
        };
        f.diagnosis =
            fmt::format("q.k at positions ({}, {}) is {:.9g}, at ({}, {}) {:.9g}", at(here, m),
                        at(here, n), before.value.hi, at(there, m), at(there, n), after.value.hi);
        f.reason = f.margin <= 1 ? "" : "q.k changed with a shift of all positions";
      });
    }
}

Finding check(Subject& subject, const Case& c) {
  require(!c.own_tables,
          "relative_position: needs own_tables=0, as q and k must turn by the same angles");
  const Run here = run(subject, c);
  if (here.failed()) return here.failure;
  Problem moved =
      make_problem(with_positions(c, [&](std::int64_t p) { return p + c.shift; }), subject.oracle);
  copy_heads(here.problem, moved, [](const HeadPlace& at) { return at; });
  const Run there = run(subject, std::move(moved));
  if (there.failed()) return there.failure;

  const double angle = std::max(angle_error(here.problem), angle_error(there.problem));
  std::vector<HeadRef> heads;
  for (std::uint32_t i = 0; i < here.problem.asked.tensor_count; ++i)
    for (std::int64_t h = 0;
         h < here.problem.asked.tensor[i].heads && here.problem.asked.tensor[i].rotate != 0; ++h)
      heads.push_back({i, h});
  Tally tally;
  if (heads.empty()) return tally.finding();
  for (std::size_t placement = 0; placement < 2; ++placement)
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::size_t i = 0; i < heads.size(); ++i)
        compare(subject, here, there, placement, b, heads[i], heads[(i + 1) % heads.size()], angle,
                tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.tokens;
}

void shape(Case& c, const Offer&) {
  c.data = DataPattern::unit;
  c.own_tables = false;                                 // q and k must turn by the same angles
  c.tokens = std::clamp<std::int64_t>(c.tokens, 2, 4);  // every pair of tokens is compared
  c.batch = std::min<std::int64_t>(c.batch, 2);
  keep_room_for_shift(c);
}

const Registered relative_position({
    .name = "relative_position",
    .order = 40,
    .claim = "q.k depends on m - n only",
    .applies = applies,
    .needs = "two tokens in one call",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
