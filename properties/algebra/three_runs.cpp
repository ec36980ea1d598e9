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
// phase_step: each step of one position turns by the same angle, r_(m+1) = r_m r_1. Bound: the
// inputs are (1, 0), so each output is the rotation itself, without a rounded product. With
// d = |r^ - r|, |r^_(m+1) - r^_m r^_1| <= d + (1 + d)^2 - 1. Under the f32_angle contract, delta
// adds to d. With narrow storage each of the three has a d of its own, larger by its storage error.
// For an angle that is wrong at single positions, this bound is two to four times sharper than that
// of composition, which has three products in it.
// phase_step kills by itself: position_in_bf16, one_term_reduction, angle_in_f32, pairing_swapped
//
// linearity: R (x + z) = R x + R z. The sums x + z are exact, because x and z keep two bits less
// than the data type has. Bound: each of the three results is off by e times the length of its
// input. For a table e is gamma u (1 + u / sqrt(2)); for a kernel's own angles e is
// (1 + gamma u)(1 + 2 u) - 1. The sum is |a| e (|x| + |z| + |x + z|), plus the storage error of
// each result.
// linearity kills by itself: limited_input, fixed_point, one_output_in_bf16
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
  Problem whole =
      make_problem(with_positions(c, [&](std::int64_t p) { return p + c.shift; }), subject.oracle);
  copy_heads(first.problem, whole, [](const HeadPlace& at) { return at; });
  const Run at_once = run(subject, std::move(whole));

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

Finding check_phase_step(Subject& subject, const Case& c) {
  require(!c.own_tables && scale_of(c) == 1 && c.shift == 1,
          "phase_step: needs own_tables=0, shift=1 and attention_scale 0 or 1");
  const auto turn = [&](const std::function<std::int64_t(std::int64_t)>& position) {
    Problem problem = make_problem(with_positions(c, position), subject.oracle);
    replace_pairs(problem, [](int, const HeadPlace&, std::int64_t) {
      return PairValue{DoubleDouble(1), DoubleDouble(0)};
    });
    return run(subject, std::move(problem));
  };
  const Run here = turn([](std::int64_t p) { return p; });
  if (here.failed()) return here.failure;
  const Run next = turn([](std::int64_t p) { return p + 1; });
  if (next.failed()) return next.failure;
  const Run step = turn([](std::int64_t) { return 1; });
  if (step.failed()) return step.failure;

  const double angle =
      std::max({angle_error(here.problem), angle_error(next.problem), angle_error(step.problem)});
  Tally tally;
  for_each_pair(here, [&](std::size_t placement, const HeadPlace& at, std::int64_t i) {
    const bounds::Precision precision = precision_of(subject.facts, c, at.tensor);
    const double d = rotation_error(subject.facts, c, at.tensor) + angle;
    const auto r = [&](const Run& of) { return output_at(of, placement, at, i); };
    const auto off = [&](const Run& of) { return d + stored_error(precision, r(of)); };
    add_pair(tally, at, i, magnitude(r(next) - rotate(r(here), r(step))),
             off(next) + bounds::compound(off(here), off(step)), precision.unit(), "u",
             "one position further is not one step more");
  });
  return tally.finding();
}

// The value without its last two bits. Sums of two such values of one binade are exact.
double coarse(double value, int mantissa) {
  const double unit = std::ldexp(1.0, 2 - mantissa);
  return std::trunc(value / unit) * unit;
}

Finding check_linearity(Subject& subject, const Case& c) {
  require(c.data == DataPattern::unit, "linearity: needs data=unit, so that its sums are exact");
  Case other = with_positions(c, [](std::int64_t p) { return p; });
  other.seed = hash(c.seed, 0x11e);
  Problem x = make_problem(c, subject.oracle), z = make_problem(other, subject.oracle), sum = x;
  for (Problem* p : {&x, &z})
    replace_pairs(*p, [&c, from = *p](int placement, const HeadPlace& at, std::int64_t pair) {
      const int mantissa = data_type(tensor_dtype(c, at.tensor)).format.mantissa;
      const PairValue in = input_pair(from, placement, at, pair);
      return PairValue{DoubleDouble(coarse(in.re.hi, mantissa)),
                       DoubleDouble(coarse(in.im.hi, mantissa))};
    });
  replace_pairs(sum, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return input_pair(x, placement, at, pair) + input_pair(z, placement, at, pair);
  });
  const Run of_x = run(subject, std::move(x)), of_z = run(subject, std::move(z)),
            of_sum = run(subject, std::move(sum));
  for (const Run* each : {&of_x, &of_z, &of_sum})
    if (each->failed()) return each->failure;
  Tally tally;
  for_each_pair(of_sum, [&](std::size_t placement, const HeadPlace& at, std::int64_t i) {
    const bounds::Precision precision = precision_of(subject.facts, c, at.tensor);
    const auto y = [&](const Run& of) { return output_at(of, placement, at, i); };
    double bound = 0;
    for (const Run* each : {&of_x, &of_z, &of_sum}) {
      const PairValue in = input_pair(each->problem, static_cast<int>(placement), at, i);
      bound += error_of_one_call(subject, c, at.tensor, magnitude(in)) +
               stored_error(precision, y(*each));
    }
    add_pair(tally, at, i, magnitude(y(of_sum) - (y(of_x) + y(of_z))), bound, precision.unit(), "u",
             "the rotation of a sum is not the sum of the rotations");
  });
  return tally.finding();
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

void shape_phase_step(Case& c, const Offer& offer) {
  shape_composition(c, offer);
  c.shift = 1;
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
    Registered({.name = "phase_step",
                .order = 100,
                .claim = "every step of one position turns by the same angle",
                .shape = shape_phase_step,
                .check = check_phase_step}),
    Registered({.name = "linearity",
                .order = 120,
                .claim = "the rotation of a sum is the sum of the rotations",
                .shape = [](Case& c, const Offer&) { c.data = DataPattern::unit; },
                .check = check_linearity}),
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
