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

#include <cmath>
#include <vector>

#include "properties/property.h"
#include "properties/shifted_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Compares every pair of tokens of one batch row and placement.
void compare(const Subject& subject, const ShiftedRuns& runs, std::size_t placement, std::int64_t b,
             HeadRef q, HeadRef k, Tally& tally) {
  const Case& c = runs.here.problem.source;
  const ShiftBound bound_of(subject, runs, q.tensor, k.tensor);
  const double unit = precision_of(subject.facts, c, q.tensor).unit();
  for (std::int64_t m = 0; m < c.tokens; ++m)
    for (std::int64_t n = 0; n < c.tokens; ++n) {
      const Dot before = dot(subject, runs.here, {placement, b, q, m, k, n});
      const Dot after = dot(subject, runs.there, {placement, b, q, m, k, n});
      const double bound = bound_of(before, after);
      tally.add(std::abs(static_cast<double>(before.value - after.value)), bound, [&](Finding& f) {
        f.where = fmt::format("{} . {} shifted by {}", place_text(q.tensor, b, m, q.h),
                              place_text(k.tensor, b, n, k.h), c.shift);
        f.bound = before.norms > 0 ? bound / (before.norms * unit) : 0;
        f.bound_unit = "u |q||k|";
        const auto at = [&](const Run& run, std::int64_t token) {
          return position_of(run.problem, static_cast<int>(placement), b, token);
        };
        f.diagnosis = fmt::format("q.k at positions ({}, {}) is {:.9g}, at ({}, {}) {:.9g}",
                                  at(runs.here, m), at(runs.here, n), before.value.hi,
                                  at(runs.there, m), at(runs.there, n), after.value.hi);
        f.reason = f.margin <= 1 ? "" : "q.k changed with a shift of all positions";
      });
    }
}

Finding check(Subject& subject, const Case& c) {
  const ShiftedRuns runs = run_shifted(subject, make_problem(c, subject.oracle));
  if (runs.failure.kind != Finding::Kind::measured) return runs.failure;
  const rope_problem& asked = runs.here.problem.asked;
  std::vector<HeadRef> heads;
  for (std::uint32_t i = 0; i < asked.tensor_count; ++i)
    for (std::int64_t h = 0; h < asked.tensor[i].heads && asked.tensor[i].rotate != 0; ++h)
      heads.push_back({i, h});
  Tally tally;
  for (std::size_t placement = 0; placement < 2; ++placement)
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::size_t i = 0; i < heads.size(); ++i)
        compare(subject, runs, placement, b, heads[i], heads[(i + 1) % heads.size()], tally);
  return tally.finding();
}

const Registered relative_position({
    .name = "relative_position",
    .order = 40,
    .claim = "q.k depends on m - n only",
    .applies = [](const Offer& offer) { return offer.tokens; },
    .needs = "two tokens in one call",
    .shape = [](Case& c,
                const Offer&) { shape_for_shift(c, 4); },  // every pair of tokens is compared
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
