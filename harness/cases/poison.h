// Poison is a NaN payload. Patterns a and b, in turn, fill what a kernel has not written yet. Other
// patterns surround its inputs. So a kernel that copies poison into its output is never mistaken
// for a kernel that wrote nothing, nor the poison for a value.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ropewalk::harness {

enum class Poison { a, b, read_only };

/// The poison of one element: a quiet NaN of that width, in the low `element_bytes` bytes.
constexpr std::uint64_t poison_bits(Poison which, std::int64_t element_bytes) {
  constexpr std::uint64_t bits[3][3] = {{0x7fde, 0x7fdeadb1, 0x7ffdeadbeefc0de1},
                                        {0xffe5, 0xffe5ca1b, 0xfffacade5ca1ab1e},
                                        {0x7ff1, 0x7ff1eab1, 0x7ff9f00dfacef00d}};
  const int width = element_bytes == 8 ? 2 : element_bytes == 4 ? 1 : 0;
  return bits[static_cast<int>(which)][width];
}

template <class Bits>
void fill_poison_as(std::byte* to, std::size_t bytes, Bits bits) {
  for (std::size_t at = 0; at + sizeof bits <= bytes; at += sizeof bits)
    std::memcpy(to + at, &bits, sizeof bits);
}

inline void fill_poison(std::byte* to, std::size_t bytes, std::int64_t element_bytes,
                        Poison which) {
  const std::uint64_t bits = poison_bits(which, element_bytes);
  switch (element_bytes) {
    case 8:
      return fill_poison_as(to, bytes, bits);
    case 4:
      return fill_poison_as(to, bytes, static_cast<std::uint32_t>(bits));
    default:
      return fill_poison_as(to, bytes, static_cast<std::uint16_t>(bits));
  }
}

inline bool is_poison(const std::byte* at, std::int64_t element_bytes, Poison which) {
  const std::uint64_t bits = poison_bits(which, element_bytes);
  switch (element_bytes) {
    case 8:
      return std::memcmp(at, &bits, 8) == 0;
    case 4:
      return std::memcmp(at, &bits, 4) == 0;
    default:
      return std::memcmp(at, &bits, 2) == 0;
  }
}

}  // namespace ropewalk::harness
