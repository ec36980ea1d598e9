// Laws about two or three calls: of the others follows what the last must give.
//
// transpose: the backward pass undoes the forward pass, R^T R x = a^2 x. Bound: there are two
// products and two rotations, the second on a vector as long as the first result:
// a^2 |x| (((1 + gamma u)(1 + | |r^| - 1 |))^2 - 1). The error of the angle cancels, because both
// passes use the same r^. With narrow storage the second result is rounded. The first is rounded
// too and then goes through the second product: |a| (1 + e) times its storage error.
// transpose kills by itself: backward_is_forward
//
// adjoint: the backward pass is the transpose of the forward pass, <R x, g> = <x, R^T g>. Bound:
// for one R^ both sides are exactly the same bilinear form. Each result is off by e times the
// length of its input, so the two dot products differ by at most 2 |a| e |x| |g|. With narrow
// storage, each result pair also adds its storage error times the length of its partner. Dot
// products are compared for each head and computed in double-double.
// adjoint kills by itself: backward_is_forward, stored_too_early
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
#include <fmt/format.h>

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

Finding check_transpose(Subject& subject, const Case& c) {
  require(c.operation == Operation::forward,
          "transpose: needs op=forward, as the property runs the backward pass itself");
  const Run there = run(subject, c);
  if (there.failed()) return there.failure;
  Case back = c;
  back.operation = Operation::transpose;
  Problem way_back = make_problem(back, subject.oracle);
  replace_pairs(way_back, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return output_at(there, static_cast<std::size_t>(placement), at, pair);
  });
  const Run here = run(subject, std::move(way_back));
  if (here.failed()) return here.failure;

  const double scale = scale_of(c);
  const DoubleDouble square = DoubleDouble(scale) * DoubleDouble(scale);
  Tally tally;
  for_each_pair(there, [&](std::size_t placement, const HeadPlace& at, std::int64_t i) {
    const bounds::Precision precision = precision_of(subject.facts, c, at.tensor);
    const double one_way = bounds::compound(bounds::product(precision.u, scale != 1),
                                            rotation_error(subject.facts, c, at.tensor));
    const PairValue x = input_pair(there.problem, static_cast<int>(placement), at, i);
    const PairValue y = output_at(here, placement, at, i);
    const PairValue expected{x.re * square, x.im * square};
    const double bound = magnitude(expected) * bounds::compound(one_way, one_way) +
                         2 * (1 + scale * scale) * bounds::underflow(precision, scale) +
                         std::abs(scale) * (1 + one_way) *
                             stored_error(precision, output_at(there, placement, at, i)) +
                         stored_error(precision, y);
    add_pair(tally, at, i, magnitude(y - expected), bound, magnitude(x) * precision.unit(), "u |x|",
             "forward, then transpose, did not give back the input");
  });
  return tally.finding();
}

Finding check_adjoint(Subject& subject, const Case& c) {
  // another seed must not move any position
  Case back = listed_positions(c);
  back.operation = reversed(c.operation);
  back.seed = hash(c.seed, 0xad1);
  const Run there = run(subject, c);
  if (there.failed()) return there.failure;
  const Run here = run(subject, back);
  if (here.failed()) return here.failure;
  const auto product = [](const PairValue& x, const PairValue& g) {
    return x.re * g.re + x.im * g.im;
  };
  Tally tally;
  for_each_rotated_head(there.problem, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t,
                                           std::int64_t h) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double error = 2 * std::abs(scale_of(c)) * relative_error_of_one_call(subject, c, tensor);
    const HeadPlace at{tensor, b, t, h};
    for (const int placement : {0, 1}) {
      const auto side = static_cast<std::size_t>(placement);
      DoubleDouble forward, backward, x2, g2;
      double stored = 0;
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        const PairValue x = input_pair(there.problem, placement, at, i);
        const PairValue g = input_pair(here.problem, placement, at, i);
        const PairValue turned = output_at(there, side, at, i);
        const PairValue back_turned = output_at(here, side, at, i);
        forward = forward + product(turned, g);
        backward = backward + product(x, back_turned);
        stored += stored_error(precision, turned) * magnitude(g) +
                  stored_error(precision, back_turned) * magnitude(x);
        x2 = x2 + product(x, x);
        g2 = g2 + product(g, g);
      }
      const double lengths = std::sqrt(static_cast<double>(x2) * static_cast<double>(g2));
      const double bound = error * lengths + stored;
      tally.add(std::abs(static_cast<double>(forward - backward)), bound, [&](Finding& f) {
        f.where = place_text(tensor, b, t, h);
        f.bound = bound / (lengths * precision.unit());
        f.bound_unit = "u |x||g|";
        f.diagnosis = fmt::format("<Rx, g> = {:.9g}, <x, R^T g> = {:.9g}", forward.hi, backward.hi);
        f.reason = f.margin <= 1 ? "" : "backward is not the transpose of forward";
      });
    }
  });
  return tally.finding();
}

void shape_transpose(Case& c, const Offer&) {
  drop_append(c);
  c.operation = Operation::forward;
  c.data = DataPattern::unit;
}

const Registered backward[] = {
    Registered({.name = "transpose",
                .place = {"laws", 70},
                .claim = "the backward pass undoes the forward pass",
                .without_norm = true,
                .needs = {{Factor::operation}},
                .shape = shape_transpose,
                .check = check_transpose}),
    Registered({.name = "adjoint",
                .place = {"laws", 80},
                .claim = "the backward pass is the transpose of the forward pass",
                .without_norm = true,
                .needs = {{Factor::operation}},
                .shape =
                    [](Case& c, const Offer&) {
                      drop_append(c);
                      c.data = DataPattern::unit;
                    },
                .check = check_adjoint})};

Finding check_composition(Subject& subject, const Case& c) {
  require(!c.own_tables && scale_of(c) == 1,
          "composition: needs own_tables=0 and attention_scale 0 or 1");
  const Run first = run(subject, c);
  if (first.failed()) return first.failure;
  Problem further = make_problem(with_positions(c, [&](std::int64_t) { return c.position_shift; }),
                                 subject.oracle);
  replace_pairs(further, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return output_at(first, static_cast<std::size_t>(placement), at, pair);
  });
  const Run second = run(subject, std::move(further));
  if (second.failed()) return second.failure;
  const Run at_once = run_part(
      subject, first, {with_positions(c, [&](std::int64_t p) { return p + c.position_shift; })});

  const double delta = std::max(
      {angle_error(first.problem), angle_error(second.problem), angle_error(at_once.problem)});
  const auto bound = [&](double rho, std::uint32_t tensor) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double e = bounds::compound(bounds::product(precision.u, false),
                                      rotation_error(subject.facts, c, tensor) + delta);
    return rho * (bounds::compound(e, e) + e) + 3 * bounds::underflow(precision, 1) +
           (1 + e) * bounds::stored_error_of_length(precision, (1 + e) * rho);
  };
  return compare_two(subject, at_once, second,
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
  Case c = with(offer.base, offer, "position_from=3");
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
                .place = {"laws", 90},
                .claim = "turning twice is turning once by the sum",
                .without_norm = true,
                .shape = shape_composition,
                .check = check_composition}),
    Registered({.name = "attention_scale",
                .place = {"rotation", 140},
                .claim = "attention_scale multiplies the result, and 0 means 1",
                .needs = {{Factor::scale, level::usual}},
                .shape = shape_attention_scale,
                .fixed_cases = many_factors,
                .check = check_attention_scale})};

}  // namespace
}  // namespace ropewalk::properties
