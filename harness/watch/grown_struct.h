// A struct of the contract as a caller of a later version passes it: new fields stand behind those
// that this version knows (rope_kernel.h, "Growth").
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "harness/protocol.h"

namespace ropewalk::harness {

template <class Struct>
bool same_bytes(const Struct& a, const Struct& b) {
  return std::ranges::equal(std::as_bytes(std::span(&a, 1)), std::as_bytes(std::span(&b, 1)));
}

/// What stands behind is checked with the struct: nobody may write there, grown or not.
template <class Struct>
struct Grown {
  Struct known;
  std::array<std::byte, 64> behind;

  explicit Grown(const Struct& given, protocol::Growth growth = protocol::as_in_header)
      : known(given) {
    if (growth != protocol::as_in_header) known.struct_size = sizeof(Grown);
    // Each field behind would be 0, or neither 0 nor a usual count or address.
    behind.fill(growth == protocol::zeros_behind ? std::byte{0} : std::byte{0x5b});
  }
};

}  // namespace ropewalk::harness
