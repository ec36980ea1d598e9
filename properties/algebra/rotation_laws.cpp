// Laws of a rotation, and of the turn by position 0, by one position more and by -m.
//
// identity_at_zero: position 0 turns nothing. The truth is the input itself. The property needs no
// oracle and reads no table, so it holds where both of them were wrong. Bound: that of agreement,
// with r = 1. The rotation of position 0 is 1 under every contract: a table has the row (1, 0), and
// an angle of 0 is exact. So a kernel may be off by g u rho with a table, by
// ((1 + g u)(1 + 2 u) - 1) rho with own angles, or by its declared error_bound. Storage and
// underflow are added as in agreement. No bits are owed: products with 1 and 0 are exact, but the
// contract promises an error and no formula, and a kernel that goes through the length and the
// angle of a pair rounds at position 0 as at any other.
// identity_at_zero kills by itself: zeros, fixed_point
//
// phase_step: each step of one position turns by the same angle, r_(m+1) = r_m r_1. Bound: the
// inputs are (1, 0), so each output is the rotation itself, without a rounded product. With
// d = |r^ - r|, |r^_(m+1) - r^_m r^_1| <= d + (1 + d)^2 - 1. Under the f32_angle contract, delta
// adds to d. With narrow storage each of the three has a d of its own, larger by its storage error.
// For an angle that is wrong at single positions, this bound is two to four times sharper than that
// of composition, which has three products in it.
// phase_step kills by itself: position_in_bf16, one_term_reduction, angle_in_f32, pairing_swapped
//
// quarter_turn: rotations of a plane commute, R (i x) = i R x with i x = (-x2, x1). Bound: both
// calls turn vectors of the same length by the same R^, so 2 e rho. Bits may differ, because an FMA
// kernel rounds only one of the two products, and not the same one in both calls. It finds
// different treatment of a pair's halves: a wrongly tiled table, a sign on one side, a scale on one
// element.
// quarter_turn kills by itself: row_repeated, pairing_swapped, one_output_in_bf16
//
// linearity: R (x + z) = R x + R z. The sums x + z are exact, because x and z keep two bits less
// than the data type has. Bound: each of the three results is off by e times the length of its
// input. For a table e is gamma u (1 + u / sqrt(2)); for a kernel's own angles e is
// (1 + gamma u)(1 + 2 u) - 1. The sum is |a| e (|x| + |z| + |x + z|), plus the storage error of
// each result.
// linearity kills by itself: limited_input, fixed_point, one_output_in_bf16
//
// power_of_two: R (2^k x) = 2^k R x, bit for bit. No rounding depends on a power of two while
// nothing over- or underflows. k is seeded, between -20 and 20. In f16, which has few exponents, it
// is between -3 and 3. Bound: none, with two exceptions. Components of f16 results at or below the
// least normal number were rounded to a multiple of eta at either size (2^k eta / 2 + eta / 2). A
// kernel that declares an error_bound for 16-bit data may compute in that type, where products
// underflow: e rho for each. It finds errors that depend on the size of x: fixed point, limits,
// absolute thresholds.
// power_of_two kills by itself: limited_input, fixed_point
//
// negative_positions: position -m turns as far back as m turns forward, R_(-m) = R_m^T. Bound: cos
// is even and sin is odd, so both sides turn by the same exact angle. Each is off by e =
// (1 + gamma u)(1 + |r^ - r|) - 1, so 2 |a| e rho together. The angles of the f32_angle contract
// are odd too. A table holds its own angles, so only kernels that make their own angles are
// checked.
// negative_positions kills by itself: positions_without_sign, backward_is_forward_exact
#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/fused.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check_identity_at_zero(Subject& subject, const Case& c) {
  const auto positions = positions_of(c);
  require(std::all_of(positions.begin(), positions.end(), [](std::int64_t p) { return p == 0; }) &&
              !c.own_tables && scale_of(c) == 1,
          "identity_at_zero: needs positions 0, own_tables=0 and attention_scale 0 or 1");
  const Run at_zero = run(subject, c);
  if (at_zero.failed()) return at_zero.failure;
  Tally tally;
  for_each_pair(at_zero, [&](std::size_t placement, const HeadPlace& at, std::int64_t i) {
    const PairValue x = input_pair(at_zero.problem, static_cast<int>(placement), at, i);
    const double rho = magnitude(x);
    const double bound = rho == 0 ? 0 : pair_bound(subject.facts, c, at.tensor, rho, 1, x);
    add_pair(tally, at, i, magnitude(output_at(at_zero, placement, at, i) - x), bound,
             rho * precision_of(subject.facts, c, at.tensor).unit(), "u rho",
             "position 0 changed a pair");
  });
  return tally.finding();
}

Finding check_phase_step(Subject& subject, const Case& c) {
  require(!c.own_tables && scale_of(c) == 1,
          "phase_step: needs own_tables=0 and attention_scale 0 or 1");
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

// Both runs have the same positions. Each pair of the inputs of the second is what the law expects
// of an output.
Finding check_change(Subject& subject, const Case& c, const Law& law) {
  const Run first = run(subject, c);
  Problem changed = first.problem;
  replace_pairs(changed, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return law.expected(input_pair(first.problem, placement, at, pair));
  });
  return compare_two(subject, first, run(subject, std::move(changed)), law);
}

Finding check_quarter_turn(Subject& subject, const Case& c) {
  return check_change(
      subject, c,
      within_two_errors(subject, c, "a quarter turn before is not a quarter turn after", nullptr,
                        [](const PairValue& x) {
                          return PairValue{DoubleDouble(0) - x.im, x.re};
                        }));
}

// The value without its last two bits. Sums of two such values of one binade are exact.
double coarse(double value, int mantissa) {
  const double unit = std::ldexp(1.0, 2 - mantissa);
  return std::trunc(value / unit) * unit;
}

Finding check_linearity(Subject& subject, const Case& c) {
  require(c.data == DataPattern::unit, "linearity: needs data=unit, so that its sums are exact");
  Case other = listed_positions(c);
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

int exponent_of(const Case& c) {
  bool wide = true;
  for (const TensorCase& t : c.tensors) wide = wide && has_wide_range(tensor_dtype(c, t));
  const int most = wide ? 20 : 3;
  const auto k = static_cast<int>(hash(c.seed, 0x2e) % static_cast<unsigned>(2 * most)) - most;
  return k >= 0 ? k + 1 : k;
}

Finding check_power_of_two(Subject& subject, const Case& c) {
  require(c.data == DataPattern::unit || c.data == DataPattern::wide ||
              c.data == DataPattern::basis || c.data == DataPattern::decay,
          "power_of_two: needs data=unit, wide, basis or decay: others would under- or overflow");
  const DoubleDouble factor(std::ldexp(1.0, exponent_of(c)));
  const auto times = [&](const PairValue& x) { return PairValue{x.re * factor, x.im * factor}; };
  Law law{"2^k times the input is not 2^k times the output", nullptr, times, nullptr, factor.hi};
  const bool narrow = std::ranges::any_of(
      c.tensors, [&](const TensorCase& t) { return is_narrow(tensor_dtype(c, t)); });
  if (narrow && subject.facts.error_bound > 0)
    law.bound = [&](double rho, std::uint32_t tensor) {
      if (!is_narrow(tensor_dtype(c, tensor))) return 0.0;
      return factor.hi * error_of_one_call(subject, c, tensor, rho) +
             error_of_one_call(subject, c, tensor, factor.hi * rho);
    };
  return check_change(subject, c, law);
}

Finding check_negative_positions(Subject& subject, const Case& c) {
  Case mirrored = with_positions(c, [](std::int64_t p) { return -p; });
  mirrored.operation = reversed(c.operation);
  const Run there = run(subject, listed_positions(c)), back = run(subject, mirrored);
  return compare_two(subject, there, back,
                     within_two_errors(subject, c, "position -m does not undo position m"));
}

void shape_identity_at_zero(Case& c, const Offer&) {
  c.attention_scale = 0;
  c.own_tables = false;
  c.position_rule = PositionRule::consecutive;
  c.positions.clear();
  c.position_from = c.position_to = c.position_step = 0;
  c.axis_positions = AxisPositions::equal;
}

void shape_phase_step(Case& c, const Offer&) {
  c.data = DataPattern::unit;
  c.attention_scale = 0;
  c.own_tables = false;
  keep_room_for_shift(c);
}

void shape_power_of_two(Case& c, const Offer&) {
  if (c.data != DataPattern::unit && c.data != DataPattern::basis) c.data = DataPattern::wide;
}

const Registered rotation_laws[] = {
    Registered({.name = "identity_at_zero",
                .place = {"rotation", 60},
                .claim = "position 0 turns nothing",
                .without_norm = true,
                .shape = shape_identity_at_zero,
                .check = check_identity_at_zero}),
    Registered({.name = "phase_step",
                .place = {"laws", 100},
                .claim = "every step of one position turns by the same angle",
                .without_norm = true,
                .shape = shape_phase_step,
                .check = check_phase_step}),
    Registered({.name = "quarter_turn",
                .place = {"laws", 110},
                .claim = "a quarter turn before is a quarter turn after",
                .without_norm = true,
                .shape = any_case,
                .check = check_quarter_turn}),
    Registered({.name = "linearity",
                .place = {"laws", 120},
                .claim = "the rotation of a sum is the sum of the rotations",
                .without_norm = true,
                .shape = [](Case& c, const Offer&) { c.data = DataPattern::unit; },
                .check = check_linearity}),
    Registered({.name = "power_of_two",
                .place = {"laws", 130},
                .claim = "2^k times the input is 2^k times the output, bit for bit",
                .without_norm = true,
                .shape = shape_power_of_two,
                .check = check_power_of_two}),
    Registered({.name = "negative_positions",
                .place = {"rotation", 150},
                .claim = "position -m turns as far back as m turns forward",
                .without_norm = true,
                .of_own_angles = true,
                .needs = {{Factor::position_range, level::negative}, {Factor::operation}},
                .shape = [](Case& c, const Offer&) { drop_append(c); },
                .check = check_negative_positions})};

}  // namespace
}  // namespace ropewalk::properties
