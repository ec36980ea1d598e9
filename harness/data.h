// Test data: a pure function of (seed, tensor, batch, token, head, element), made from bits. No
// libm and no std:: distribution, so every compiler and machine gets the same bytes, and a case
// that loses a head or a token keeps the rest of its data.
#pragma once
#include <bit>
#include <cstdint>

namespace ropewalk {

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

/// A full-mantissa value with 0.5 <= |value| < 1, exact in a type with `mantissa_bits` (24 or 53).
constexpr double unit_value(std::uint64_t bits, int mantissa_bits) {
  const std::uint64_t sign = bits & (std::uint64_t{1} << 63);
  const std::uint64_t fraction = (bits >> 11) & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t kept = fraction >> (53 - mantissa_bits) << (53 - mantissa_bits);
  return std::bit_cast<double>(sign | (std::uint64_t{1022} << 52) | kept);
}

/// Full mantissa, magnitude 2^-20 .. 2^20: sees errors that grow with the size of x.
constexpr double wide_value(std::uint64_t bits, int mantissa_bits) {
  const int exponent = static_cast<int>(mix(bits) % 41) - 20;
  const auto power = static_cast<std::uint64_t>(1023 + exponent) << 52;
  return unit_value(bits, mantissa_bits) * std::bit_cast<double>(power);
}

/// Full mantissa, a few times the least normal f32: products and sums of such values are subnormal.
constexpr double tiny_value(std::uint64_t bits, int mantissa_bits) {
  const int exponent = static_cast<int>(mix(bits) % 4) - 126;
  const auto power = static_cast<std::uint64_t>(1023 + exponent) << 52;
  return unit_value(bits, mantissa_bits) * std::bit_cast<double>(power);
}

/// Full mantissa, as large as a scale of 64 leaves room for in f32, and as squares leave in f64.
constexpr double huge_value(std::uint64_t bits, int mantissa_bits) {
  return unit_value(bits, mantissa_bits) * (mantissa_bits == 24 ? 0x1p118 : 0x1p440);
}

/// What arithmetic has rules of its own for: 0, -0, 1, -1, and values that are subnormal in f32.
constexpr double special_value(std::uint64_t bits, int mantissa_bits) {
  constexpr double values[] = {0.0, -0.0, 1.0, -1.0};
  const std::uint64_t which = mix(bits) % 6;
  if (which < 4) return values[which];
  const double small = mantissa_bits == 24 ? 0x1p-149 * static_cast<double>(bits >> 44) : 0x1p-440;
  return which == 4 ? unit_value(bits, mantissa_bits) : small;
}

}  // namespace ropewalk
