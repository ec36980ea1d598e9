// How long a call may take before it counts as a hang.
#pragma once
#include <algorithm>
#include <cstdint>

#include "harness/protocol.h"

namespace ropewalk {

// Sanitizers slow a kernel by an order of magnitude.
#ifdef ROPEWALK_SANITIZED
inline constexpr double slow = 10;
#else
inline constexpr double slow = 1;
#endif
inline constexpr double prepare_limit_s = 60 * slow;  // untimed by contract, may build tables
// A second was passed by a correct kernel on a crowded machine.
inline constexpr double least_limit_s = 2 * slow;
// A hundred times 2 ns for a byte of the tensors, which is slow for a scalar kernel: an allowance,
// not a measurement.
inline constexpr double limit_s_per_byte = 100 * 2e-9 * slow;

// The larger of two seconds and a hundred times what is usual for as much data. From the size
// alone: the verdict must not depend on which kernels ran before.
inline double apply_limit_s(const protocol::CallDescriptor& call) {
  std::uint64_t bytes = 0;
  for (const auto& tensor : call.tensor) bytes += tensor.in.mapped_bytes + tensor.out.mapped_bytes;
  return std::max(least_limit_s, limit_s_per_byte * static_cast<double>(bytes));
}

}  // namespace ropewalk
