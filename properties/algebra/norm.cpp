// Norm: a rotation keeps the length of every pair and of every head, times |attention_scale|.
//
// Bound: | |y| - a |x| | <= a |x| ((1 + gamma u)(1 + | |r^| - 1 |) - 1). No term grows with the
// position. | |r^| - 1 | is at most u / sqrt(2) for a correctly rounded table, and 2 u for a
// kernel's own angles. The bound of a head is that of its pairs: the norm of a vector of pair
// errors. With narrow storage, the whole storage error of a pair may change its length. Of a
// normalized tensor, |x| is the length after the norm, whose error comes beside the rotation's.
//
// Kills by itself: pairing_swapped, table_in_bf16, scaled_twice, not_scaled
#include <cmath>

#include <fmt/format.h>

#include "harness/judge/normalized.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

DoubleDouble squared_norm(const PairValue& z) {
  return z.re * z.re + z.im * z.im;
}

// | |y| - a |x| | computed from the exact squares: (|y|^2 - a^2 |x|^2) / (|y| + a |x|).
double norm_error(const DoubleDouble& y2, const DoubleDouble& x2, double scale) {
  const DoubleDouble scaled = x2 * (DoubleDouble(scale) * DoubleDouble(scale));
  const double sum = std::sqrt(static_cast<double>(y2)) + std::sqrt(static_cast<double>(scaled));
  const auto difference = static_cast<double>(y2 - scaled);
  return sum == 0 ? difference : std::abs(difference) / sum;
}

Finding check(Subject& subject, const Case& c) {
  const Run done = run(subject, c);
  if (done.failed()) return done.failure;
  const Problem& problem = done.problem;
  const double scale = scale_of(c);
  const std::int64_t half = c.rotary_dim / 2;
  Tally tally;
  const auto add = [&](std::uint32_t tensor, const DoubleDouble& y2, const DoubleDouble& x2,
                       double pairs, double stored, auto&& where) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double rotation = rotation_error(subject.facts, c, tensor);
    const double rho = std::sqrt(static_cast<double>(x2));
    const double bound =
        rho == 0 ? 0
                 : bounds::against_exact(precision, rho, rotation, scale) +
                       (std::sqrt(pairs) - 1) * bounds::underflow(precision, scale) +
                       std::sqrt(pairs) * std::abs(scale) * norm_lost_of(subject.facts, c, tensor) +
                       stored;
    tally.add(norm_error(y2, x2, scale), bound, [&](Finding& f) {
      f.where = where();
      f.bound = rho > 0 ? bound / (rho * precision.unit()) : 0;
      f.bound_unit = "u |x|";
      const double gain =
          std::sqrt(static_cast<double>(y2) / static_cast<double>(x2)) / std::abs(scale) - 1;
      f.diagnosis = fmt::format("gain {:+.3g}", gain);
      f.reason = f.margin <= 1 ? "" : "the length changed";
    });
  };
  for_each_rotated_head(
      problem, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
        const bounds::Precision precision = precision_of(subject.facts, c, tensor);
        for (const Outputs& outputs : done.execution.outputs) {
          DoubleDouble head_x2, head_y2;
          double head_stored2 = 0;
          const InputPairs inputs(problem, outputs.placement, {tensor, b, t, h});
          for (std::int64_t i = 0; i < half; ++i) {
            const DoubleDouble x2 = squared_norm(inputs[i]);
            const PairValue y = output_pair(problem, outputs, tensor, b, t, h, i);
            const DoubleDouble y2 = squared_norm(y);
            const double stored = stored_error(precision, y);
            add(tensor, y2, x2, 1, stored,
                [&] { return fmt::format("{} pair {}", place_text(tensor, b, t, h), i); });
            head_x2 = head_x2 + x2;
            head_y2 = head_y2 + y2;
            head_stored2 += stored * stored;
          }
          add(tensor, head_y2, head_x2, static_cast<double>(half), std::sqrt(head_stored2),
              [&] { return place_text(tensor, b, t, h) + " whole head"; });
        }
      });
  return tally.finding();
}

const Registered norm({
    .name = "norm",
    .place = {"rotation", 30},
    .claim = "a rotation keeps the length of every pair and every head",
    .shape = any_case,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
