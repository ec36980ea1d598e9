// Where Q and K of a workload lie in memory.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "benchmarks/workloads/workloads.h"
#include "harness/cases/case.h"

namespace ropewalk::bench {

/// The words of the layouts, in the order of WorkloadLayout.
inline constexpr std::array<std::string_view, 4> layout_words{"packed", "head_major", "fused",
                                                              "padded"};
/// Elements that no head owns, after each head, token and batch row of a padded tensor: a cache
/// line of f32 data.
inline constexpr std::int64_t padded_gap = 16;

/// A tensor in its buffer, in elements. Input and output have the same strides.
struct TensorPlace {
  std::int64_t at = 0;  ///< of the first element
  std::int64_t batch_stride = 0, token_stride = 0, head_stride = 0;
  std::int64_t element(std::int64_t batch, std::int64_t token, std::int64_t head) const {
    return at + batch * batch_stride + token * token_stride + head * head_stride;
  }
};

/// The places of Q and K. A fused pair shares one buffer, else each has one of its own.
std::array<TensorPlace, 2> tensor_places(const Workload& workload);

/// The workload as a case with this number of tokens: shapes, layout, position type, frequencies,
/// scale. Kernel, property and seed are left to the caller.
harness::Case case_of(const Workload& workload, std::int64_t tokens);

/// Whether Q and K begin at multiples of 64 bytes, if their buffers do.
bool begins_aligned(const Workload& workload);

/// The problem of a workload. `inv_freq` ([rotary_dim / 2]) must outlive it.
/// angle_source is ROPE_ANGLES_TABLE (by position, in the dtype of the data) or
/// ROPE_ANGLES_INV_FREQ. operation is Operation::forward or Operation::transpose.
rope_problem make_problem(const Workload& workload, const std::vector<double>& inv_freq,
                          std::int32_t angle_source, Operation operation);

}  // namespace ropewalk::bench
