// Laws about two calls that turn by the same angles.
//
// quarter_turn: rotations of a plane commute, R (i x) = i R x with i x = (-x2, x1). Bound: both
// calls turn vectors of the same length by the same R^, so 2 e rho. Bits may differ, because an FMA
// kernel rounds only one of the two products, and not the same one in both calls. It finds
// different treatment of a pair's halves: a wrongly tiled table, a sign on one side, a scale on one
// element.
// quarter_turn kills by itself: row_repeated, pairing_swapped, one_output_in_bf16
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

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Both runs have the same positions; the inputs of the second are changed.
Finding check_change(Subject& subject, const Case& c, const Law& law) {
  const Run first = run(subject, c);
  return compare_two(
      subject, first, [&] { return run_changed(subject, first, law.expected); }, law);
}

Finding check_quarter_turn(Subject& subject, const Case& c) {
  return check_change(
      subject, c,
      within_two_errors(subject, c, "a quarter turn before is not a quarter turn after", nullptr,
                        [](const PairValue& x) {
                          return PairValue{DoubleDouble(0) - x.im, x.re};
                        }));
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
  const bool narrow = std::any_of(c.tensors.begin(), c.tensors.end(), [&](const TensorCase& t) {
    return is_narrow(tensor_dtype(c, t));
  });
  if (narrow && subject.facts.error_bound > 0)
    law.bound = [&](double rho, std::uint32_t tensor) {
      if (!is_narrow(tensor_dtype(c, tensor))) return 0.0;
      return factor.hi * error_of_one_call(subject, c, tensor, rho) +
             error_of_one_call(subject, c, tensor, factor.hi * rho);
    };
  return check_change(subject, c, law);
}

void shape_power_of_two(Case& c, const Offer&) {
  if (c.data != DataPattern::unit && c.data != DataPattern::basis) c.data = DataPattern::wide;
}

Finding check_negative_positions(Subject& subject, const Case& c) {
  const auto run_back = [&] {
    Case mirrored = with_positions(c, [](std::int64_t p) { return -p; });
    mirrored.operation = reversed(c.operation);
    return run(subject, mirrored);
  };
  return compare_two(subject, run(subject, with_positions(c, [](std::int64_t p) { return p; })),
                     run_back,
                     within_two_errors(subject, c, "position -m does not undo position m"));
}

const Registered equal_angles[] = {
    Registered({.name = "quarter_turn",
                .order = 110,
                .claim = "a quarter turn before is a quarter turn after",
                .shape = any_case,
                .check = check_quarter_turn}),
    Registered({.name = "power_of_two",
                .order = 130,
                .claim = "2^k times the input is 2^k times the output, bit for bit",
                .shape = shape_power_of_two,
                .check = check_power_of_two}),
    Registered({.name = "negative_positions",
                .order = 150,
                .claim = "position -m turns as far back as m turns forward",
                .applies =
                    [](const Offer& o) {
                      return o.negative_positions && o.transpose &&
                             o.base.contract != ROPE_CONTRACT_TABLE;
                    },
                .needs = "angles of the kernel's own at negative positions, and a backward pass",
                .shape = any_case,
                .check = check_negative_positions})};

}  // namespace
}  // namespace ropewalk::properties
