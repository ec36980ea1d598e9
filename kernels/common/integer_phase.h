// The angle of a position as a 64-bit fraction of a turn, with exact range reduction at no cost.
//
// F = round(2^64 * inv_freq / 2 pi) is the turn fraction of one position. The phase of position m
// is m * F mod 2^64: the multiplication wraps around, which is the exact range reduction. F is off
// by at most half a unit, so the phase is off by |m| 2^-65 turns. At 2^31 this is 3.7e-10 rad, or
// 0.006 u of f32.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace ropewalk {

using TurnFraction = std::uint64_t;

/// F for one frequency.
/// Range: 0 <= inv_freq <= 2 pi, in rad per position.
/// Error: at most 0.5 + 2^-8 units.
inline TurnFraction turn_fraction(double inv_freq) {
  __extension__ using Wide = unsigned __int128;
  // 1 / 2 pi = 0x0.28be60db9391054a7f09d5f47d4d3770..., 128 bits after the point. Every table of
  // constants for Payne-Hanek reduction has these digits.
  constexpr std::uint64_t high = 0x28be60db9391054a, low = 0x7f09d5f47d4d3770;
  if (!(inv_freq > 0)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(inv_freq, &exponent);  // inv_freq = fraction * 2^exponent
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  // mantissa * (1 / 2 pi) in units of 2^-128. Its low 64 bits matter only for the carry.
  const Wide low_part = Wide{mantissa} * low;
  const Wide product = Wide{mantissa} * high + (low_part >> 64);  // in units of 2^-64
  const int shift = 53 - exponent;                                // 2^64 F = product * 2^-shift
  if (shift > 118) return 0;                                      // below half a unit
  const Wide half = Wide{1} << (shift - 1);
  return static_cast<TurnFraction>((product + half) >> shift);
}

/// The phase of a position, in units of 2^-64 turns.
constexpr std::uint64_t phase_of(TurnFraction fraction, std::int64_t position) {
  return fraction * static_cast<std::uint64_t>(position);
}

/// cos and sin of a phase.
/// Error: below 2^-36 each, before any rounding by the caller.
/// The top bits give the nearest quarter turn. The rest gives an angle in [-pi/4, pi/4] for two
/// Taylor polynomials. The first terms left out are (pi/4)^13 / 13! < 7e-12 and (pi/4)^14 / 14! <
/// 4e-13.
/// The code has no branches and no conversion from integers, so a loop over pairs becomes vector
/// code on any x86-64. A double has no room for the last 10 bits, which are 2^-52 quarter turns.
struct CosSin {
  double cos, sin;
};
constexpr CosSin cos_sin(std::uint64_t phase) {
  const std::uint64_t turned = phase + (std::uint64_t{1} << 61);  // half a quarter turn ahead
  const std::uint64_t quarter = turned >> 62;
  constexpr std::uint64_t one = std::uint64_t{0x3ff} << 52;  // the bits of 1.0; [1, 2) lies above
  const auto in_quarter = std::bit_cast<double>((turned << 2 >> 12) | one);
  constexpr double radians_per_quarter = 0x1.921fb54442d18p+0;  // pi / 2
  const double a = (in_quarter - 1.5) * radians_per_quarter;
  const double a2 = a * a;
  const double s =
      a + a * a2 *
              (-1.0 / 6 +
               a2 * (1.0 / 120 + a2 * (-1.0 / 5040 + a2 * (1.0 / 362880 - a2 * (1.0 / 39916800)))));
  const double c =
      1 + a2 * (-1.0 / 2 +
                a2 * (1.0 / 24 +
                      a2 * (-1.0 / 720 +
                            a2 * (1.0 / 40320 + a2 * (-1.0 / 3628800 + a2 * (1.0 / 479001600))))));
  // (cos, sin) in quarters 0 to 3: (c, s), (-s, c), (-c, -s), (s, -c).
  const auto c_bits = std::bit_cast<std::uint64_t>(c), s_bits = std::bit_cast<std::uint64_t>(s);
  const std::uint64_t swapped = (c_bits ^ s_bits) & (0 - (quarter & 1));
  const std::uint64_t cos_sign = ((quarter + 1) & 2) << 62, sin_sign = (quarter & 2) << 62;
  return {std::bit_cast<double>(c_bits ^ swapped ^ cos_sign),
          std::bit_cast<double>(s_bits ^ swapped ^ sin_sign)};
}

}  // namespace ropewalk
