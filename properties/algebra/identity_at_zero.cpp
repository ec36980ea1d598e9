// Identity at 0: position 0 turns nothing.
//
// Bound: none for a table kernel, because the row is (1, 0) and products with 1 and 0 are exact. -0
// may become +0, and a kernel that declares to flush subnormals may flush them. A kernel that makes
// its own angles may be off by 2 u here as anywhere: |y - x| is judged as in agreement, with r = 1.
//
// Kills by itself: zeros, fixed_point
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/cases/checked.h"
#include "harness/judge/judge.h"
#include "properties/property.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const auto positions = positions_of(c);
  require(std::all_of(positions.begin(), positions.end(), [](std::int64_t p) { return p == 0; }) &&
              !c.own_tables && (c.attention_scale == 0 || c.attention_scale == 1),
          "identity_at_zero: needs positions 0, own_tables=0 and attention_scale 0 or 1");
  const Problem problem = make_problem(c, subject.oracle);
  const Execution execution = execute(subject, problem);
  if (const Finding f = failure_of(execution); f.kind != Finding::Kind::measured) return f;
  const bool flushes = (subject.facts.flags & ROPE_FLUSHES_SUBNORMALS) != 0;
  const bool exact =
      c.contract == ROPE_CONTRACT_TABLE && subject.facts.error_bound == 0 && !flushes;
  const double u = precision_of(subject.facts, c.dtype).unit();
  Tally tally;
  for_each_rotated_head(
      problem.asked, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
        for (const Outputs& outputs : execution.outputs)
          for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
            const PairValue x = input_pair(problem, outputs, tensor, b, t, h, i);
            const PairValue y = output_pair(problem, outputs, tensor, b, t, h, i);
            const double bound = exact ? 0 : pair_bound(subject.facts, c, magnitude(x), 1, x);
            tally.add(magnitude(y - x), bound, [&](Finding& f) {
              f.where = fmt::format("{} pair {}", place_text(tensor, b, t, h), i);
              f.bound = bound / (magnitude(x) * u);
              f.bound_unit = "u |x|";
              f.reason = f.margin <= 1 ? "" : "position 0 changed a pair";
            });
          }
      });
  return tally.finding();
}

void shape(Case& c, const Offer&) {
  c.attention_scale = 0;
  c.own_tables = false;
  c.position_rule = PositionRule::consecutive;
  c.positions.clear();
  c.position_from = c.position_to = c.position_step = 0;
}

const Registered identity_at_zero({
    .name = "identity_at_zero",
    .order = 60,
    .claim = "position 0 turns nothing",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
