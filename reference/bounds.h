// How far a correct kernel may be from the truth, each bound with its derivation.
//
// u is the unit roundoff of the data type, rho = |x| of a pair, eta the least subnormal, a the
// attention_scale. A bound is relative to rho unless it says otherwise; products are closed, not
// first order. Errors are 2-norms of a pair: |y - y_exact|.
#pragma once
#include <cmath>

namespace ropewalk::bounds {

/// (1 + a)(1 + b) - 1, without losing the small terms next to 1.
inline double compound(double a, double b) {
  return a + b + a * b;
}

/// Unit roundoff, the least subnormal and the least normal number of a data type.
struct Precision {
  double u, eta, normal;
  bool flushes = false;  ///< ROPE_FLUSHES_SUBNORMALS: what is subnormal may become 0
};
inline constexpr Precision f32{0x1p-24, 0x1p-149, 0x1p-126};
inline constexpr Precision f64{0x1p-53, 0x1p-1074, 0x1p-1022};

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
/// and in the sum: sqrt(2) of it three times, with a scale 3 |a| + 4 times.
inline double underflow(const Precision& p, double scale) {
  const double sqrt2 = std::sqrt(2.0), a = std::abs(scale);
  if (p.flushes) return sqrt2 * p.normal * (scale == 1 ? 3 : 3 * a + 4);
  return sqrt2 * p.eta * (scale == 1 ? 1 : a + 1.5);
}

/// Against the given table: |y - a x r^| with the table's own r^, of magnitude r.
inline double against_table(const Precision& p, double rho, double r, double scale) {
  const double a = std::abs(scale);
  return a * rho * r * product(p.u, scale != 1) + underflow(p, scale);
}

/// Against the exact rotation, for a kernel whose rotation is off by at most `rotation_error`.
inline double against_exact(const Precision& p, double rho, double rotation_error, double scale) {
  const double a = std::abs(scale);
  return a * rho * compound(product(p.u, scale != 1), rotation_error) + underflow(p, scale);
}

}  // namespace ropewalk::bounds
