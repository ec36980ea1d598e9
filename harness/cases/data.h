// Test data is a pure function of (seed, tensor, batch, token, head, element), computed with
// integers. No libm and no std:: distribution is used, so every compiler and machine gets the same
// bytes. A case that loses a head or a token keeps the data of all others, but for large tensors,
// whose rows repeat (harness/cases/tensor_content.cpp).
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/random.h"
#include "kernels/api/types.h"

namespace ropewalk::harness {

/// A hash of a seed and any number of coordinates.
template <class... Coordinates>
constexpr std::uint64_t hash(std::uint64_t seed, Coordinates... coordinates) {
  std::uint64_t z = seed;
  ((z = mix(z + random_step + static_cast<std::uint64_t>(coordinates) * 0xd1342543de82ef95u)), ...);
  return z;
}

/// A full-mantissa value with 0.5 <= |value| < 1. It is exact in a type with `mantissa_bits`.
constexpr double unit_value(std::uint64_t bits, int mantissa_bits) {
  const std::uint64_t sign = bits & (std::uint64_t{1} << 63);
  const std::uint64_t fraction = (bits >> 11) & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t kept = fraction >> (53 - mantissa_bits) << (53 - mantissa_bits);
  return std::bit_cast<double>(sign | (std::uint64_t{1022} << 52) | kept);
}

/// Returns 2^exponent, for exponents of normal doubles.
constexpr double power_of_two_value(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

/// Returns k with 2^k <= x < 2^(k + 1). x is positive and normal.
constexpr int exponent_of(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x) << 1 >> 53) - 1023;
}

/// A full mantissa of magnitude 2^-wide .. 2^wide (DataType::wide). It shows errors that grow with
/// the size of x.
constexpr double wide_value(std::uint64_t bits, const DataType& type) {
  const auto count = 2 * static_cast<std::uint64_t>(type.wide) + 1;
  const int exponent = static_cast<int>(mix(bits) % count) - type.wide;
  return unit_value(bits, type.format.mantissa) * power_of_two_value(exponent);
}

/// A full mantissa, a few times the least normal number of the type, or of f32 for a wider type.
/// Products and sums of such values are subnormal.
constexpr double tiny_value(std::uint64_t bits, const DataType& type) {
  const int least = exponent_of(std::max(type.format.normal, data_type(Dtype::f32).format.normal));
  const int exponent = static_cast<int>(mix(bits) % 4) + least;
  return unit_value(bits, type.format.mantissa) * power_of_two_value(exponent);
}

/// A full mantissa, as large as a scale of 64 allows. In f64 it is as large as the squares in laws
/// allow.
constexpr double huge_value(std::uint64_t bits, const DataType& type) {
  return unit_value(bits, type.format.mantissa) * power_of_two_value(type.huge);
}

/// Values that arithmetic treats specially: 0, -0, 1, -1, and subnormals of the data type. In f64
/// the subnormals give way to 2^-440, because laws are checked by squares.
constexpr double special_value(std::uint64_t bits, const DataType& type) {
  constexpr double values[] = {0.0, -0.0, 1.0, -1.0};
  const int mantissa = type.format.mantissa;
  const std::uint64_t which = mix(bits) % 6;
  if (which < 4) return values[which];
  if (which == 4) return unit_value(bits, mantissa);
  if (type.dtype == Dtype::f64) return power_of_two_value(-type.huge);
  constexpr int bits_at_most = 20;  // fewer than f32 has: replay lines keep their values
  return type.format.eta * static_cast<double>(bits >> (64 - std::min(mantissa - 1, bits_at_most)));
}

/// The lower end of a type: 1 to 100 times its least subnormal, any subnormal, and its first normal
/// numbers. A value that the type lacks is rounded when it is stored.
constexpr double subnormal_value(std::uint64_t bits, const Format& format) {
  const double sign = bits >> 63 != 0 ? -1 : 1;
  const std::uint64_t which = mix(bits) % 4;
  if (which < 2) return sign * format.eta * static_cast<double>(1 + (bits & 0xffff) % 100);
  if (which == 2)
    return sign * format.eta * static_cast<double>(bits << 1 >> (65 - format.mantissa));
  return 2 * unit_value(bits, format.mantissa) * format.normal;
}

/// The upper end of a type. Each pair is a full mantissa as long as the contract promises to
/// handle, up to largest / sqrt(2). A scale above 1 lowers that limit.
constexpr double edge_value(std::uint64_t bits, const Format& format, double scale) {
  double power = power_of_two_value(exponent_of(format.largest));
  double above = scale < 0 ? -scale : scale;
  while (above > 1) {
    above /= 2;
    power /= 2;
  }
  return unit_value(bits, format.mantissa) * power;
}

/// A full mantissa times any power of two between the two ends of the type. `which` chooses the
/// power.
constexpr double span_value(std::uint64_t bits, std::uint64_t which, const Format& format,
                            double scale) {
  const int least = exponent_of(format.normal);
  const int count = exponent_of(edge_value(0, format, scale)) - least + 1;
  const int power = least + static_cast<int>(mix(which) % static_cast<std::uint64_t>(count));
  return 2 * unit_value(bits, format.mantissa) * power_of_two_value(power);
}

}  // namespace ropewalk::harness
