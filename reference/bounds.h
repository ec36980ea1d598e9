// How far a correct kernel may be from the truth. Each bound has its derivation here.
//
// u is the unit roundoff of the data type, rho = |x| of a pair, eta the least subnormal, a the
// attention_scale. A bound is relative to rho unless its comment says otherwise. Products of errors
// are exact, not first order. An error is the 2-norm of a pair: |y - y_exact|.
//
// Kernels compute f16 and bf16 data in f32 (attention_scale too) and round once, on store. Their
// bounds are those of f32 plus stored_error, which storing adds.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/api/types.h"

namespace ropewalk::bounds {

/// Returns (1 + a)(1 + b) - 1, without losing the small terms next to 1.
inline double compound(double a, double b) {
  return a + b + a * b;
}

/// The type in which a kernel computes (u, eta, normal), and the type to which it rounds on store.
struct Precision {
  double u, eta, normal;
  bool flushes = false;  ///< ROPE_FLUSHES_SUBNORMALS: a subnormal value may become 0
  /// Of the narrower type that stores the results; 0: results are stored as computed.
  double stored_u = 0, stored_eta = 0, stored_normal = 0;

  /// Unit roundoff of the data type, the unit in which bounds are shown.
  double unit() const { return stored_u > 0 ? stored_u : u; }
  /// The largest change of a component by underflow on store.
  double stored_least() const { return flushes ? stored_normal : stored_eta / 2; }
};

/// For a kernel that computes in a format and stores its results without a further rounding.
inline constexpr Precision computed_in(const Format& format) {
  return {format.u, format.eta, format.normal};
}
inline constexpr Precision f32 = computed_in(data_type(Dtype::f32).format);
inline constexpr Precision f64 = computed_in(data_type(Dtype::f64).format);

/// For a kernel that computes in f32 and rounds once, on store, to a narrower type.
inline constexpr Precision stored_as(const Format& narrow) {
  return {f32.u, f32.eta, f32.normal, false, narrow.u, narrow.eta, narrow.normal};
}

/// One complex product x * r with each operation rounded once. Without FMA, |error| <= sqrt(5) u
/// |x| |r| (Brent, Percival, Zimmermann, Math. Comp. 76, 2007). With FMA it is 2 u |x| |r|
/// (Jeannerod, Kornerup, Louvet, Muller, Math. Comp. 86, 2017). The suite does not know which a
/// kernel uses, and the larger bound holds for both.
inline const double gamma = std::sqrt(5.0);

/// The error of a correctly rounded (cos, sin), in units of u. A component in [1/2, 1] is off by at
/// most u / 2, a smaller one by less, so the pair is off by at most u / sqrt(2).
inline const double rounded_rotation = std::sqrt(0.5);

/// How far a rotation that a kernel computes itself may be from the exact one under the `exact`
/// angle contract, in units of u.
inline constexpr double computed_rotation = 2;

/// The error of the product. A scale other than 1 adds two roundings: the kernel multiplies by a,
/// and may have rounded a first to the type that it computes in.
inline double product(double u, bool scaled) {
  return scaled ? compound(gamma * u, compound(u, u)) : gamma * u;
}

/// The error by underflow. Each component has two products, each off by at most eta / 2, so the
/// pair is off by at most sqrt(2) eta.
/// With a scale, eta / 2 is lost once more. If the kernel scales x first, each element of x loses
/// eta / 2, which adds half of sqrt(2) eta for the pair. If it scales a product or the result, the
/// earlier loss grows by |a|. No order loses more than sqrt(2) eta (|a| + 3/2).
/// A kernel that flushes loses up to the least normal number where others lose eta / 2, and also in
/// the sum. That is sqrt(2) of this number three times, or 3 |a| + 4 times with a scale. With
/// narrow storage it may also flush inputs that are subnormal in that type: sqrt(2) |a| of its
/// least normal number. Underflow on store is in stored_error.
inline double underflow(const Precision& p, double scale) {
  const double sqrt2 = std::sqrt(2.0), a = std::abs(scale);
  if (p.flushes)
    return sqrt2 * p.normal * (scale == 1 ? 3 : 3 * a + 4) + sqrt2 * a * p.stored_normal;
  return sqrt2 * p.eta * (scale == 1 ? 1 : a + 1.5);
}

/// Narrow storage: how far rounding to nearest moves a number of magnitude at most v. It is half
/// the distance between neighbours in the binade of v: u 2^k for 2^k <= v < 2^(k+1). Below the
/// least normal number it is eta / 2, which is u times that number. A kernel that flushes may lose
/// a subnormal value whole. Returns 0 if results are stored as computed, and infinity if v is not
/// finite.
inline double half_ulp(const Precision& p, double v) {
  constexpr std::uint64_t exponent = 0x7ff0000000000000U;
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & exponent);
  return std::max(p.stored_u * power, p.stored_least());
}

/// The largest error of storing, given the stored pair (y1, y2). Each component was rounded from a
/// value in its own binade, or up to its lower end. Laws that compare results use this, as they
/// know no truth. Where the truth is known, with_storage uses the truth instead.
inline double stored_error(const Precision& p, double y1, double y2) {
  if (p.stored_u == 0) return 0;
  return std::hypot(half_ulp(p, y1), half_ulp(p, y2));
}

/// The same for any pair of this length, since half_ulp(v) <= u v + least for each component.
inline double stored_error_of_length(const Precision& p, double length) {
  return p.stored_u * length + std::sqrt(2.0) * p.stored_least();
}
/// The same relative to the length of a pair that is at least 3/4 long.
inline double stored_relative_error(const Precision& p) {
  return p.stored_u + 2 * p.stored_least();
}
/// The same for a pair of length 1. Rounding moves a component in [1/2, 1] by at most u / 2, and a
/// smaller one by less. A value that was computed slightly above 1 is rounded back towards 1.
inline double stored_rotation_error(const Precision& p) {
  return rounded_rotation * p.stored_u + std::sqrt(2.0) * p.stored_least();
}

/// Turns a bound h on the computed result into a bound on the stored one. y is the truth, so
/// component j was at most |y_j| + h before it was rounded.
inline double with_storage(const Precision& p, double h, double y1, double y2) {
  return h + stored_error(p, std::abs(y1) + h, std::abs(y2) + h);
}

/// How far a kernel may move a given rotation before it multiplies. The value of a table is read
/// into the type that the kernel computes in. That is exact if the table's type is not wider. A
/// wider table (f64 with f32 or 16-bit data) may be rounded to nearest: a component in [1/2, 1]
/// moves by at most u / 2, a smaller one by less, as in rounded_rotation. Tables hold no larger
/// components.
inline double table_rounding(const Precision& p, const Format& table) {
  return table.u < p.u ? rounded_rotation * p.u : 0;
}

/// How far the rows of a table of this type may be from the exact rotations: each component is
/// rounded to f32 or f64, and from f32 to a 16-bit type. The first rounding moves a component by at
/// most u of f32 / 2, and the second by at most u of the type / 2. Below the least normal number of
/// the type, half its least subnormal is less than that.
inline double table_error(const DataType& table) {
  const double first = table.computed_in == table.dtype ? 0 : data_type(table.computed_in).format.u;
  return rounded_rotation * (table.format.u + first);
}

/// Before storage, the bound on |y - a x r^| against the given table's own r^, of magnitude r. If
/// the kernel first moves r^ by up to `rounding`, its product is that with a rotation of at most
/// r + rounding, so the two errors are (r + rounding) product + rounding.
inline double against_table(const Precision& p, double rho, double r, double scale,
                            double rounding = 0) {
  const double a = std::abs(scale), one = product(p.u, scale != 1);
  return a * rho * r * one + a * rho * rounding * (1 + one) + underflow(p, scale);
}

/// Before storage, the bound against the exact rotation, if the kernel's rotation is off by at most
/// `rotation_error`.
inline double against_exact(const Precision& p, double rho, double rotation_error, double scale) {
  const double a = std::abs(scale);
  return a * rho * compound(product(p.u, scale != 1), rotation_error) + underflow(p, scale);
}

/// RMS norm before the rotation: how far w x / sqrt(mean(x^2) + epsilon) may be, relative to it,
/// for any order of the sum. The radicand: `count` products and count - 1 sums, the mean by a
/// division or by a rounded 1 / count, 2 u, and epsilon, with its addition, 1 u: count + 3 factors
/// of 1 + u on terms that are not negative. Squares that underflow lose 2^-60 of epsilon and less.
/// The root halves that. An approximate reciprocal root is off by 2 ulp, 4 u, and a division and a
/// root by less. Then come the products with x and w, 2 u, and 1 + w, 1 u. `weighted`: false for
/// the value before the weight. To first order ((count + 3) / 2 + 6 [+ 1]) u.
inline double norm_error(double u, std::int64_t count, bool weighted, bool plus_one) {
  const auto rounded = [u](double times) { return std::expm1(times * std::log1p(u)); };
  const double radicand = rounded(static_cast<double>(count + 3));
  const double root = 1 / std::sqrt(1 - std::min(radicand, 0.5)) - 1;
  return compound(root, rounded(5 + (weighted ? 1 : 0) + (weighted && plus_one ? 1 : 0)));
}
/// What an element may lose beside it by underflow: half of eta in the last product, and as much in
/// the first, which then grows with the weight or with `factor`, 1 / rms, by their order. A kernel
/// that flushes loses the least normal number instead, and an input that is subnormal in narrow
/// storage.
inline double norm_underflow(const Precision& p, double weight, double factor) {
  const double w = std::abs(weight), first = std::max(w, factor);
  if (!p.flushes) return p.eta / 2 * (1 + first);
  return p.normal * (1 + first) + std::max(p.normal, p.stored_normal) * factor * std::max(w, 1.0);
}

/// The most that a kernel can need which computes everything in its data type, in units of u of
/// that type, relative to |a| rho. A declared error_bound may be larger; then it is no longer the
/// rounding of the type that it covers. Each operation rounds once, to nearest:
/// - The rotation. With own angles it is off by computed_rotation units of the type that the angles
///   need: f32 for 16-bit data, else the data type. A given table is the truth, and off by nothing.
/// - 16-bit data: cos and sin come in f32 and are rounded to the type. That moves them by
///   rounded_rotation u, as it moves exact ones, since every number of the type is one of f32.
/// - The product: four products and two sums, gamma u. 16-bit types have the 5 bits or more that
///   its proof takes.
/// - The scale: a is rounded to the type, and so is each scaled element. That is (1 + u)^2.
/// The result is stored as computed, so storing adds nothing. A given row may be longer than 1 by
/// rounded_rotation units of its own type.
/// With u to first order: gamma + 2 = 4.24 for f32 and f64 with a table, 6.24 with own angles, and
/// gamma + 2 + 0.71 = 4.94 for 16-bit data with either. Underflow is beside it, as beside every
/// bound.
inline double needed_in_type(const DataType& type, bool own_angles) {
  const double u = type.format.u, table_u = data_type(type.computed_in).format.u;
  const bool narrow = type.computed_in != type.dtype;
  const double given = own_angles ? computed_rotation * table_u : 0;
  const double rotation = narrow ? compound(given, rounded_rotation * u) : given;
  const double length = own_angles ? 1 : 1 + rounded_rotation * table_u;
  return length * compound(product(u, true), rotation) / u;
}

}  // namespace ropewalk::bounds
