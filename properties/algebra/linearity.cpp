// Linearity: R (x + z) = R x + R z.
//
// The sums x + z are exact, because x and z keep two bits less than the data type has. Bound: each
// of the three results is off by e times the length of its input. For a table e is
// gamma u (1 + u / sqrt(2)); for a kernel's own angles e is (1 + gamma u)(1 + 2 u) - 1. The sum is
// |a| e (|x| + |z| + |x + z|), plus the storage error of each result.
//
// Kills by itself: limited_input, fixed_point, one_output_in_bf16
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

// The value without its last two bits. Sums of two such values of one binade are exact.
double coarse(double value, int mantissa) {
  const double unit = std::ldexp(1.0, 2 - mantissa);
  return std::trunc(value / unit) * unit;
}

PairValue coarse(const PairValue& x, int mantissa) {
  return {DoubleDouble(coarse(x.re.hi, mantissa)), DoubleDouble(coarse(x.im.hi, mantissa))};
}

Finding check(Subject& subject, const Case& c) {
  require(c.data == DataPattern::unit, "linearity: needs data=unit, so that its sums are exact");
  Case other = with_positions(c, [](std::int64_t p) { return p; });
  other.seed = hash(c.seed, 0x11e);
  Problem x = make_problem(c, subject.oracle), z = make_problem(other, subject.oracle), sum = x;
  for (Problem* p : {&x, &z})
    replace_pairs(*p, [&c, from = *p](int placement, const HeadPlace& at, std::int64_t pair) {
      const int mantissa = data_type(tensor_dtype(c, at.tensor)).format.mantissa;
      return coarse(input_pair(from, placement, at, pair), mantissa);
    });
  replace_pairs(sum, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return input_pair(x, placement, at, pair) + input_pair(z, placement, at, pair);
  });
  const Run of_x = run(subject, std::move(x)), of_z = run(subject, std::move(z)),
            of_sum = run(subject, std::move(sum));
  for (const Run* each : {&of_x, &of_z, &of_sum})
    if (each->failed()) return each->failure;
  Tally tally;
  for_each_rotated_head(of_sum.problem.asked, [&](std::uint32_t tensor, std::int64_t b,
                                                  std::int64_t t, std::int64_t h) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    for (std::size_t placement = 0; placement < 2; ++placement)
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        const auto y = [&](const Run& of) {
          return output_pair(of.problem, of.execution.outputs[placement], tensor, b, t, h, i);
        };
        double bound = 0;
        for (const Run* each : {&of_x, &of_z, &of_sum})
          bound +=
              error_of_one_call(subject, c, tensor,
                                magnitude(input_pair(each->problem, static_cast<int>(placement),
                                                     {tensor, b, t, h}, i))) +
              stored_error(precision, y(*each));
        tally.add(magnitude(y(of_sum) - (y(of_x) + y(of_z))), bound, [&](Finding& f) {
          f.where = fmt::format("{} pair {}", place_text(tensor, b, t, h), i);
          f.bound = bound / precision.unit();
          f.bound_unit = "u";
          f.reason = f.margin <= 1 ? "" : "the rotation of a sum is not the sum of the rotations";
        });
      }
  });
  return tally.finding();
}

void shape(Case& c, const Offer&) {
  c.data = DataPattern::unit;
}

const Registered linearity({
    .name = "linearity",
    .order = 120,
    .claim = "the rotation of a sum is the sum of the rotations",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
