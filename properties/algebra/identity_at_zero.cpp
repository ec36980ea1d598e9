// Identity at 0: position 0 turns nothing.
//
// Bound: that of agreement, with r = 1. The rotation of position 0 is 1 under every contract: a
// table has the row (1, 0), and an angle of 0 is exact. So a kernel may be off by g u rho with a
// table, by ((1 + g u)(1 + 2 u) - 1) rho with own angles, or by its declared error_bound. Storage
// and underflow are added as in agreement.
//
// No bits are owed. For a kernel that forms x1 1 - x2 0 and x2 1 + x1 0, products with 1 and 0 are
// exact. The contract promises an error and no formula. A kernel that goes through the length and
// the angle of a pair rounds at position 0 as at any other.
//
// The truth is the input itself. The property needs no oracle and reads no table, so it holds where
// both of them were wrong. NaN fails, and a pair of zeros stays zero.
//
// Kills by itself: zeros, fixed_point
#include <fmt/format.h>

#include <algorithm>

#include "harness/cases/checked.h"
#include "harness/judge/judge.h"
#include "properties/property.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding compare_with_input(const KernelFacts& facts, const Problem& problem,
                           const Execution& execution) {
  const Case& c = problem.source;
  const std::vector<Rotation> none(static_cast<std::size_t>(c.rotary_dim / 2),
                                   Rotation{DoubleDouble(1), DoubleDouble(0)});
  Tally tally;
  HeadPlace at{};
  const std::function<std::string(std::int64_t)> where = [&](std::int64_t pair) {
    return fmt::format("{} pair {}", place_text(at.tensor, at.b, at.t, at.h), pair);
  };
  for (const Outputs& outputs : execution.outputs)
    for_each_rotated_head(
        problem.asked, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
          at = {tensor, b, t, h};
          const HeadRule rule(facts, c, 1, tensor);
          const std::int64_t bytes = data_type(rule.dtype).bytes;
          const TensorPlaces& places = problem.tensor[tensor];
          const std::int64_t window = problem.asked.tensor[tensor].rotary_offset;
          const auto in = places.in_at + in_index(problem.asked, tensor, b, t, h) + window;
          const auto out = places.out_at + out_index(problem.asked, tensor, b, t, h) + window;
          compare_head(rule,
                       {c.pairing, given(problem, outputs, places.in).data() + in * bytes,
                        outputs[static_cast<std::size_t>(places.out)].data() + out * bytes, where},
                       none, tally);
        });
  return tally.finding();
}

Finding check(Subject& subject, const Case& c) {
  const auto positions = positions_of(c);
  require(std::all_of(positions.begin(), positions.end(), [](std::int64_t p) { return p == 0; }) &&
              !c.own_tables && (c.attention_scale == 0 || c.attention_scale == 1),
          "identity_at_zero: needs positions 0, own_tables=0 and attention_scale 0 or 1");
  const Problem problem = make_problem(c, subject.oracle);
  const Execution execution = execute(subject, problem);
  if (const Finding f = failure_of(execution); f.kind != Finding::Kind::measured) return f;
  Finding f = compare_with_input(subject.facts, problem, execution);
  if (!f.reason.empty()) f.reason = "position 0 changed a pair";
  return f;
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
