// Laws about three calls: of two of them follows what the third must give.
//
// composition: turning by a and then by s is turning by a + s, R_s R_a = R_(a+s). Bound: for one
// call let e = (1 + gamma u)(1 + |r^ - r|) - 1. Two calls in a row are off by (1 + e)^2 - 1 and the
// single call by e, so rho ((1 + e)^2 - 1 + e). Under the f32_angle contract the angles are off by
// delta, known for each position, which adds to |r^ - r|. With narrow storage all three results are
// rounded. The last two are rounded as they are. The first is rounded like any pair of length
// (1 + e) rho, and then turned once more.
// composition kills by itself: position_in_bf16, position_clamped, one_term_reduction, angle_in_f32
//
// attention_scale: the kernel multiplies each rotated element by the factor a once, and 0 means 1.
// Bound: the scaled result is off by e_a |a| rho. e_a has two more roundings: the product with a,
// and a itself, rounded to the type that the kernel computes in. The unscaled result is off by e
// rho before it is multiplied by a. The sum is |a| rho (e_a + e). The storage error of the unscaled
// result is multiplied by a too.
// attention_scale kills by itself: scaled_twice, not_scaled, scale_without_sign
// attention_scale kills by itself: large_scale, small_scale
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check_composition(Subject& subject, const Case& c) {
  require(!c.own_tables && scale_of(c) == 1,
          "composition: needs own_tables=0 and attention_scale 0 or 1");
  const Run first = run(subject, c);
  if (first.failed()) return first.failure;
  Problem further =
      make_problem(with_positions(c, [&](std::int64_t) { return c.shift; }), subject.oracle);
  replace_pairs(further, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return output_at(first, static_cast<std::size_t>(placement), at, pair);
  });
  const Run second = run(subject, std::move(further));
  if (second.failed()) return second.failure;
  const Run at_once =
      run_part(subject, first, {with_positions(c, [&](std::int64_t p) { return p + c.shift; })});

  const double delta = std::max(
      {angle_error(first.problem), angle_error(second.problem), angle_error(at_once.problem)});
  const auto bound = [&](double rho, std::uint32_t tensor) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double e = bounds::compound(bounds::product(precision.u, false),
                                      rotation_error(subject.facts, c, tensor) + delta);
    return rho * (bounds::compound(e, e) + e) + 3 * bounds::underflow(precision, 1) +
           (1 + e) * bounds::stored_error_of_length(precision, (1 + e) * rho);
  };
  return compare_two(subject, at_once, [&] { return second; },
                     {"two turns in a row are not the one turn by their sum", nullptr, nullptr,
                      bound, 1, "one turn by the sum", "two turns"});
}

Finding check_attention_scale(Subject& subject, const Case& c) {
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

// Factors of any size. No kernel may clamp or approximate them.
std::vector<Case> many_factors(const Offer& offer, Profile) {
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

void shape_composition(Case& c, const Offer&) {
  c.data = DataPattern::unit;
  c.own_tables = false;
  c.attention_scale = 0;
  keep_room_for_shift(c);
}

void shape_attention_scale(Case& c, const Offer&) {
  constexpr double yarn = 1.1386294361119891;  // not exact in f32, so the kernel must round it
  if (scale_of(c) == 1) c.attention_scale = yarn;
}

const Registered three_runs[] = {
    Registered({.name = "composition",
                .order = 90,
                .claim = "turning twice is turning once by the sum",
                .shape = shape_composition,
                .check = check_composition}),
    Registered({.name = "attention_scale",
                .order = 140,
                .claim = "attention_scale multiplies the result, and 0 means 1",
                .applies = [](const Offer& offer) { return offer.scale; },
                .needs = "an attention_scale",
                .shape = shape_attention_scale,
                .fixed_cases = many_factors,
                .check = check_attention_scale})};

}  // namespace
}  // namespace ropewalk::properties
