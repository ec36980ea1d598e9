// Attention scale: the kernel multiplies each rotated element by the factor a once, and 0 means 1.
//
// Bound: the scaled result is off by e_a |a| rho. e_a has two more roundings: the product with a,
// and a itself, rounded to the type that the kernel computes in. The unscaled result is off by e
// rho before it is multiplied by a. The sum is |a| rho (e_a + e). The storage error of the unscaled
// result is multiplied by a too.
//
// Kills by itself: scaled_twice, not_scaled, scale_without_sign, large_scale, small_scale
#include <cmath>
#include <vector>

#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const auto scaled = [&](double a) {
    Case out = c;
    out.attention_scale = a;
    return out;
  };
  const Case plain = scaled(0);
  const Run without = run(subject, plain);
  if (without.failed()) return without.failure;
  Tally tally;
  for (const double a : {c.attention_scale, 1.0}) {
    const Case other = scaled(a);
    const Run with = run(subject, other);
    if (with.failed()) return with.failure;
    const DoubleDouble factor(scale_of(other));
    compare(subject, without, with,
            {"attention_scale is not a factor on the result", nullptr,
             [&](const PairValue& y) {
               return PairValue{y.re * factor, y.im * factor};
             },
             [&](double rho, std::uint32_t tensor) {
               return error_of_one_call(subject, other, tensor, rho) +
                      std::abs(scale_of(other)) * error_of_one_call(subject, plain, tensor, rho);
             },
             std::abs(factor.hi)},
            tally);
  }
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.scale;
}

// Factors of any size. No kernel may clamp or approximate them.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  Case c = with(offer.base, offer, {.from = 3});
  std::vector<double> factors{1000, 0.001, -128.5, 10, 0.0101};
  if (has_wide_range(c.dtype)) factors.insert(factors.end(), {0x1p40, -0x1p40, 0x1p-40, -0x1p-40});
  for (const double a : factors) {
    c.attention_scale = a;
    cases.push_back(c);
  }
  return cases;
}

void shape(Case& c, const Offer&) {
  constexpr double yarn = 1.1386294361119891;  // not exact in f32, so the kernel must round it
  if (scale_of(c) == 1) c.attention_scale = yarn;
}

const Registered attention_scale({
    .name = "attention_scale",
    .order = 140,
    .claim = "attention_scale multiplies the result, and 0 means 1",
    .applies = applies,
    .needs = "an attention_scale",
    .shape = shape,
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
