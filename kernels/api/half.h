// half.h: the two 16-bit storage types as C++ types. A 16-bit value is read into a float, which
// holds it exactly. It is made from a float by rounding once, to nearest, ties to even:
//
//   Bf16 stored{0.3F};          // rounds
//   const float value = stored;  // exact
//
// Both use integers only, so they need neither F16C nor AVX512-BF16, and no rounding mode matters.
// A NaN stays a NaN with its sign and the upper bits of its payload, and is made quiet by
// narrowing.
#pragma once
#include <bit>
#include <cstdint>

namespace ropewalk {

/// bfloat16: the upper half of a float. u = 2^-8, normal from 2^-126, subnormal from 2^-133.
struct Bf16 {
  std::uint16_t bits = 0;

  Bf16() = default;
  explicit constexpr Bf16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const bool nan = (wide & 0x7fffffffU) > 0x7f800000U;
    // Adds half of what is cut off, less 1 unless the last bit kept is odd.
    const std::uint32_t rounded = wide + 0x7fffU + (wide >> 16 & 1U);
    bits = static_cast<std::uint16_t>((nan ? wide | 0x400000U : rounded) >> 16);
  }
  constexpr operator float() const {  // NOLINT: exact
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// binary16: u = 2^-11, normal from 2^-14, subnormal from 2^-24, largest 65504.
struct F16 {
  std::uint16_t bits = 0;

  F16() = default;
  explicit constexpr F16(float value) {
    const auto wide = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = wide & 0x7fffffffU;
    // The exponent gets bias 15 instead of 127 and is rounded as above, up to infinity if
    // necessary.
    const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
    // 113 - exponent more bits are cut off. The leading bit is among those that stay.
    const std::uint32_t exponent = magnitude >> 23;
    const std::uint32_t cut = exponent >= 113 ? 14 : exponent < 101 ? 26 : 126 - exponent;
    const std::uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
    const std::uint32_t kept = significand >> cut;
    const std::uint32_t subnormal = (significand + ((1U << (cut - 1)) - 1) + (kept & 1U)) >> cut;
    const std::uint32_t nan = 0x7e00U | (magnitude >> 13 & 0x3ffU);
    const std::uint32_t narrow = magnitude > 0x7f800000U   ? nan
                                 : magnitude >= 143U << 23 ? 0x7c00U  // 65536 and above
                                 : magnitude >= 113U << 23 ? normal
                                 : magnitude >= 101U << 23 ? subnormal
                                                           : 0U;  // below 2^-26: 0
    bits = static_cast<std::uint16_t>((wide >> 16 & 0x8000U) | narrow);
  }
  constexpr operator float() const {  // NOLINT: exact
    const std::uint32_t sign = (bits & 0x8000U) << 16, magnitude = bits & 0x7fffU;
    const float subnormal = static_cast<float>(magnitude) * 0x1p-24F;  // exact
    const std::uint32_t normal = (magnitude << 13) + (112U << 23);
    const std::uint32_t special = 0x7f800000U | (magnitude & 0x3ffU) << 13;
    const std::uint32_t wide = magnitude >= 0x7c00U  ? special
                               : magnitude >= 0x400U ? normal
                                                     : std::bit_cast<std::uint32_t>(subnormal);
    return std::bit_cast<float>(sign | wide);
  }
};

static_assert(sizeof(Bf16) == 2 && sizeof(F16) == 2);

}  // namespace ropewalk
