// Poison is a NaN payload. Patterns a and b, in turn, fill what a kernel has not written yet. Other
// patterns surround its inputs, and in some calls numbers (harness/judge/placed_buffers.h). So a
// kernel that copies poison into its output is never mistaken for a kernel that wrote nothing, nor
// the poison for a value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/api/types.h"

namespace ropewalk::harness {

enum class Poison { a, b, read_only };

/// The poison of what the first call (placement 0) or the second has to write.
constexpr Poison poison_of(int placement) {
  return placement == 0 ? Poison::a : Poison::b;
}

/// The poison of one element, in its low bytes.
constexpr std::uint64_t poison_bits(Poison which, Dtype dtype) {
  const PoisonBits& bits = data_type(dtype).poison;
  switch (which) {
    case Poison::a:
      return bits.a;
    case Poison::b:
      return bits.b;
    case Poison::read_only:
      return bits.read_only;
  }
  __builtin_unreachable();
}

/// Repeats the bits of one element.
inline void fill_bits(std::byte* to, std::size_t bytes, Dtype dtype, std::uint64_t element) {
  with_any_type(dtype, [&]<class Element>(std::type_identity<Element>) {
    const auto bits = static_cast<BitsOf<Element>>(element);
    const std::size_t count = bytes / sizeof bits;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
  });
}
inline void fill_poison(std::byte* to, std::size_t bytes, Dtype dtype, Poison which) {
  fill_bits(to, bytes, dtype, poison_bits(which, dtype));
}

inline bool is_poison(const std::byte* at, Dtype dtype, Poison which) {
  const std::uint64_t bits = poison_bits(which, dtype);
  return std::memcmp(at, &bits, static_cast<std::size_t>(data_type(dtype).bytes)) == 0;
}

/// The same for what arithmetic makes of poison: it may change the sign, and nothing else.
inline bool is_poison_of_any_sign(const std::byte* at, Dtype dtype, Poison which) {
  const auto bytes = static_cast<std::size_t>(data_type(dtype).bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return (bits ^ poison_bits(which, dtype)) << (65 - 8 * bytes) == 0;
}

}  // namespace ropewalk::harness
