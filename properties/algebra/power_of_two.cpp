// Power of two: R (2^k x) = 2^k R x, bit for bit. No rounding depends on a power of two while
// nothing over- or underflows. k is seeded, between -20 and 20. In f16, which has few exponents, it
// is between -3 and 3.
//
// Bound: none, with two exceptions. Components of f16 results at or below the least normal number
// were rounded to a multiple of eta at either size (2^k eta / 2 + eta / 2). A kernel that declares
// an error_bound for 16-bit data may compute in that type, where products underflow: e rho for
// each. The property finds errors that depend on the size of x: fixed point, limits, absolute
// thresholds.
//
// Kills by itself: limited_input, fixed_point
#include <algorithm>
#include <cmath>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

int exponent_of(const Case& c) {
  bool wide = true;
  for (const TensorCase& t : c.tensors) wide = wide && has_wide_range(tensor_dtype(c, t));
  const int most = wide ? 20 : 3;
  const auto k = static_cast<int>(hash(c.seed, 0x2e) % static_cast<unsigned>(2 * most)) - most;
  return k >= 0 ? k + 1 : k;
}

Finding check(Subject& subject, const Case& c) {
  require(c.data == DataPattern::unit || c.data == DataPattern::wide ||
              c.data == DataPattern::basis || c.data == DataPattern::decay,
          "power_of_two: needs data=unit, wide, basis or decay: others would under- or overflow");
  const DoubleDouble factor(std::ldexp(1.0, exponent_of(c)));
  const auto times = [&](const PairValue& x) { return PairValue{x.re * factor, x.im * factor}; };
  const Run first = run(subject, c);
  if (first.failed()) return first.failure;
  const Run second = run_changed(subject, first, times);
  if (second.failed()) return second.failure;
  Law law{"2^k times the input is not 2^k times the output", nullptr, times, nullptr, factor.hi};
  const bool narrow = std::any_of(c.tensors.begin(), c.tensors.end(), [&](const TensorCase& t) {
    return is_narrow(tensor_dtype(c, t));
  });
  if (narrow && subject.facts.error_bound > 0)
    law.bound = [&](double rho, std::uint32_t tensor) {
      if (!is_narrow(tensor_dtype(c, tensor))) return 0.0;
      return factor.hi * error_of_one_call(subject, c, tensor, rho) +
             error_of_one_call(subject, c, tensor, factor.hi * rho);
    };
  Tally tally;
  compare(subject, first, second, law, tally);
  return tally.finding();
}

void shape(Case& c, const Offer&) {
  if (c.data != DataPattern::unit && c.data != DataPattern::basis) c.data = DataPattern::wide;
}

const Registered power_of_two({
    .name = "power_of_two",
    .order = 130,
    .claim = "2^k times the input is 2^k times the output, bit for bit",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
