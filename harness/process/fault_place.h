// Where a fault of the worker lies, in words.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/protocol.h"

namespace ropewalk::harness {

/// A buffer as messages tell of it: it lies `lead` bytes behind the first of its pages. bytes 0:
/// the worker says where it begins and ends.
struct NamedRegion {
  std::string name;
  std::uint64_t lead = 0, bytes = 0;
};

/// Which buffer the noted address belongs to, and its offset from the first byte of that.
std::string place_of_fault(const protocol::Control& c, const std::vector<NamedRegion>& regions);

}  // namespace ropewalk::harness
