// How far a correct kernel may be from the truth, each bound with its derivation.
//
// u is the unit roundoff of the data type, rho = |x| of a pair, eta the least subnormal, a the
// attention_scale. A bound is relative to rho unless it says otherwise; products are closed, not
// first order. Errors are 2-norms of a pair: |y - y_exact|.
//
// f16 and bf16 data are computed in f32 (attention_scale too) and rounded once, where they are
// stored: their bounds are those of f32, and what storing costs (stored_error).
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/api/types.h"

namespace ropewalk::bounds {

/// (1 + a)(1 + b) - 1, without losing the small terms next to 1.
inline double compound(double a, double b) {
  return a + b + a * b;
}

/// What a kernel computes in (u, eta, normal), and what it rounds to where it stores.
struct Precision {
  double u, eta, normal;
  bool flushes = false;  ///< ROPE_FLUSHES_SUBNORMALS: what is subnormal may become 0
  /// Of the narrower type that results are stored in; 0: results are stored as computed.
  double stored_u = 0, stored_eta = 0, stored_normal = 0;

  /// Unit roundoff of the data type: the unit in which bounds are shown.
  double unit() const { return stored_u > 0 ? stored_u : u; }
  /// The most that underflow moves a component by where it is stored.
  double stored_least() const { return flushes ? stored_normal : stored_eta / 2; }
};

/// Computes in a format and stores what it computed.
inline constexpr Precision computed_in(const Format& format) {
  return {format.u, format.eta, format.normal};
}
inline constexpr Precision f32 = computed_in(data_type(Dtype::f32).format);
inline constexpr Precision f64 = computed_in(data_type(Dtype::f64).format);

/// Computes in f32 and rounds once, on store, to a narrower type.
inline constexpr Precision stored_as(const Format& narrow) {
  return {f32.u, f32.eta, f32.normal, false, narrow.u, narrow.eta, narrow.normal};
}

/// One complex product x * r, each operation rounded once: |error| <= sqrt(5) u |x| |r| without FMA
/// (Brent, Percival, Zimmermann, Math. Comp. 76, 2007), 2 u with FMA (Jeannerod, Kornerup, Louvet,
/// Muller, Math. Comp. 86, 2017). The suite does not know which was used: the larger holds for
/// both.
inline const double gamma = std::sqrt(5.0);

/// A correctly rounded (cos, sin): each component off by at most u / 2 of values in [1/2, 1], so
/// the pair by at most u / sqrt(2). In units of u.
inline const double rounded_rotation = std::sqrt(0.5);

/// How far a rotation that a kernel computes itself may be from the real one under the `exact`
/// angle contract, in units of u.
inline constexpr double computed_rotation = 2;

/// The product and, with a scale other than 1, two more roundings: the kernel multiplies, and may
/// have rounded a to the data type first.
inline double product(double u, bool scaled) {
  return scaled ? compound(gamma * u, compound(u, u)) : gamma * u;
}

/// Underflow: two products a component, each off by at most eta / 2, so sqrt(2) eta for the pair.
/// A scale may come first (eta / 2 for each element of x, half of sqrt(2) eta for the pair), or in
/// each product or after it (then what was lost grows by |a|, and eta / 2 is lost again): no order
/// loses more than sqrt(2) eta (|a| + 3/2).
/// A kernel that flushes loses up to the whole least normal number where others lose half of eta,
/// and in the sum: sqrt(2) of it three times, with a scale 3 |a| + 4 times. With narrow storage it
/// may also take inputs that are subnormal there for 0: sqrt(2) |a| of that type's least normal
/// number. (What underflows where a result is stored is in stored_error.)
inline double underflow(const Precision& p, double scale) {
  const double sqrt2 = std::sqrt(2.0), a = std::abs(scale);
  if (p.flushes)
    return sqrt2 * p.normal * (scale == 1 ? 3 : 3 * a + 4) + sqrt2 * a * p.stored_normal;
  return sqrt2 * p.eta * (scale == 1 ? 1 : a + 1.5);
}

/// Narrow storage: the most that rounding to nearest moves a number of magnitude v or less: half
/// the distance between the neighbours in the binade of v (u 2^k for 2^k <= v < 2^(k+1); below the
/// least normal number eta / 2, which is u times it). A kernel that flushes may lose what is
/// subnormal altogether. 0 where results are stored as computed; infinite for v that is not finite.
inline double half_ulp(const Precision& p, double v) {
  constexpr std::uint64_t exponent = 0x7ff0000000000000U;
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & exponent);
  return std::max(p.stored_u * power, p.stored_least());
}

/// What storing the pair (y1, y2) costs, given what was stored: each component was rounded from
/// something in its own binade, or onto its lower end. Laws that compare results have no truth to
/// take it from; where there is one, against_table and against_exact take it from that.
inline double stored_error(const Precision& p, double y1, double y2) {
  if (p.stored_u == 0) return 0;
  return std::hypot(half_ulp(p, y1), half_ulp(p, y2));
}

/// The same for any pair of this length: half_ulp(v) <= u v + least for each component.
inline double stored_error_of_length(const Precision& p, double length) {
  return p.stored_u * length + std::sqrt(2.0) * p.stored_least();
}
/// And relative to the length of a pair that is not shorter than 3/4.
inline double stored_relative_error(const Precision& p) {
  return p.stored_u + 2 * p.stored_least();
}
/// For a pair of length 1: rounding moves a component in [1/2, 1] by at most u / 2, a smaller one
/// by less, and what computing had made longer than 1 comes back to it.
inline double stored_rotation_error(const Precision& p) {
  return rounded_rotation * p.stored_u + std::sqrt(2.0) * p.stored_least();
}

/// From a bound h on the error of what was computed to one on what was stored: y is the truth, so
/// component j was at most |y_j| + h before it was rounded.
inline double with_storage(const Precision& p, double h, double y1, double y2) {
  return h + stored_error(p, std::abs(y1) + h, std::abs(y2) + h);
}

/// Against the given table, before storage: |y - a x r^| with the table's own r^, of magnitude r.
inline double against_table(const Precision& p, double rho, double r, double scale) {
  const double a = std::abs(scale);
  return a * rho * r * product(p.u, scale != 1) + underflow(p, scale);
}

/// Against the exact rotation, before storage, for a kernel whose rotation is off by at most
/// `rotation_error`.
inline double against_exact(const Precision& p, double rho, double rotation_error, double scale) {
  const double a = std::abs(scale);
  return a * rho * compound(product(p.u, scale != 1), rotation_error) + underflow(p, scale);
}

}  // namespace ropewalk::bounds
