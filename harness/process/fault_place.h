// Names the place of a worker's fault in words.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/protocol.h"

namespace ropewalk::harness {

/// A buffer as messages name it. It begins `lead` bytes behind the first of its pages. If bytes is
/// 0, the worker's record gives its begin and end.
struct NamedRegion {
  std::string name;
  std::uint64_t lead = 0, bytes = 0;
};

/// Names the buffer that the noted address belongs to, and the offset from the buffer's first byte.
std::string place_of_fault(const protocol::Control& c, const std::vector<NamedRegion>& regions);

}  // namespace ropewalk::harness
