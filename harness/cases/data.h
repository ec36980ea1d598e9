// Test data is a pure function of (seed, tensor, batch, token, head, element), computed with
// integers. No libm and no std:: distribution is used, so every compiler and machine gets the same
// bytes. A case that loses a head or a token keeps the data of all others.
#pragma once
#include <bit>
#include <cstdint>

#include "reference/bounds.h"

namespace ropewalk::harness {

/// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA 2014): a bijection that mixes all bits.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A hash of a seed and any number of coordinates.
template <class... Coordinates>
constexpr std::uint64_t hash(std::uint64_t seed, Coordinates... coordinates) {
  std::uint64_t z = seed;
  ((z = mix(z + 0x9e3779b97f4a7c15u +
            static_cast<std::uint64_t>(coordinates) * 0xd1342543de82ef95u)),
   ...);
  return z;
}

/// A full-mantissa value with 0.5 <= |value| < 1. It is exact in a type with `mantissa_bits`: 53,
/// 24, 11 (f16) or 8 (bf16).
constexpr double unit_value(std::uint64_t bits, int mantissa_bits) {
  const std::uint64_t sign = bits & (std::uint64_t{1} << 63);
  const std::uint64_t fraction = (bits >> 11) & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t kept = fraction >> (53 - mantissa_bits) << (53 - mantissa_bits);
  return std::bit_cast<double>(sign | (std::uint64_t{1022} << 52) | kept);
}

/// f16 alone has few exponents, so its patterns are narrower
inline constexpr int f16_mantissa_bits = 11;

/// Returns 2^exponent, for exponents of normal doubles.
constexpr double power_of_two_value(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

/// A full mantissa of magnitude 2^-20 .. 2^20. It shows errors that grow with the size of x. In f16
/// the magnitude is 2^-6 .. 2^6, which leaves room for a scale of 64.
constexpr double wide_value(std::uint64_t bits, int mantissa_bits) {
  const int reach = mantissa_bits == f16_mantissa_bits ? 6 : 20;
  const auto count = static_cast<std::uint64_t>(2 * reach + 1);
  const int exponent = static_cast<int>(mix(bits) % count) - reach;
  return unit_value(bits, mantissa_bits) * power_of_two_value(exponent);
}

/// A full mantissa, a few times the least normal f32 (or f16). Products and sums of such values are
/// subnormal.
constexpr double tiny_value(std::uint64_t bits, int mantissa_bits) {
  const int least = mantissa_bits == f16_mantissa_bits ? -14 : -126;
  const int exponent = static_cast<int>(mix(bits) % 4) + least;
  return unit_value(bits, mantissa_bits) * power_of_two_value(exponent);
}

/// A full mantissa, as large as a scale of 64 allows. In f64 it is as large as the squares in laws
/// allow.
constexpr double huge_value(std::uint64_t bits, int mantissa_bits) {
  const int exponent = mantissa_bits == 53 ? 440 : mantissa_bits == f16_mantissa_bits ? 9 : 118;
  return unit_value(bits, mantissa_bits) * power_of_two_value(exponent);
}

/// Values that arithmetic treats specially: 0, -0, 1, -1, and subnormals of the data type. In f64
/// the subnormals give way to 2^-440, because laws are checked by squares.
constexpr double special_value(std::uint64_t bits, int mantissa_bits) {
  constexpr double values[] = {0.0, -0.0, 1.0, -1.0};
  const std::uint64_t which = mix(bits) % 6;
  if (which < 4) return values[which];
  if (which == 4) return unit_value(bits, mantissa_bits);
  if (mantissa_bits == 53) return 0x1p-440;
  if (mantissa_bits == 24) return 0x1p-149 * static_cast<double>(bits >> 44);
  return mantissa_bits == f16_mantissa_bits ? 0x1p-24 * static_cast<double>(bits >> 54)
                                            : 0x1p-133 * static_cast<double>(bits >> 57);
}

/// The lower end of a type: 1 to 100 times its least subnormal, any subnormal, and its first normal
/// numbers. A value that the type lacks is rounded when it is stored.
constexpr double subnormal_value(std::uint64_t bits, const bounds::Format& format) {
  const double sign = bits >> 63 != 0 ? -1 : 1;
  const std::uint64_t which = mix(bits) % 4;
  if (which < 2) return sign * format.eta * static_cast<double>(1 + (bits & 0xffff) % 100);
  if (which == 2)
    return sign * format.eta * static_cast<double>(bits << 1 >> (65 - format.mantissa));
  return 2 * unit_value(bits, format.mantissa) * format.normal;
}

/// The upper end of a type. Each pair is a full mantissa as long as the contract promises to
/// handle, up to largest / sqrt(2). A scale above 1 lowers that limit.
constexpr double edge_value(std::uint64_t bits, const bounds::Format& format, double scale) {
  double power = power_of_two_value(
      static_cast<int>(std::bit_cast<std::uint64_t>(format.largest) >> 52) - 1023);
  for (double a = scale < 0 ? -scale : scale; a > 1; a /= 2) power /= 2;
  return unit_value(bits, format.mantissa) * power;
}

/// A full mantissa times any power of two between the two ends of the type. `which` chooses the
/// power.
constexpr double span_value(std::uint64_t bits, std::uint64_t which, const bounds::Format& format,
                            double scale) {
  const auto exponent = [](double x) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(x) << 1 >> 53) - 1023;
  };
  const int least = exponent(format.normal);
  const int count = exponent(edge_value(0, format, scale)) - least + 1;
  const int power = least + static_cast<int>(mix(which) % static_cast<std::uint64_t>(count));
  return 2 * unit_value(bits, format.mantissa) * power_of_two_value(power);
}

}  // namespace ropewalk::harness
