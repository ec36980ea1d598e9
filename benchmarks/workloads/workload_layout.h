// Where Q and K of a workload lie in memory.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "benchmarks/workloads/workloads.h"
#include "harness/call/operands.h"
#include "harness/cases/case.h"
#include "harness/cases/fused.h"

namespace ropewalk::bench {

/// The words of the layouts, in the order of WorkloadLayout.
inline constexpr std::array<std::string_view, 4> layout_words{"packed", "head_major", "fused",
                                                              "padded"};
/// Elements that no head owns, after each head, token and batch row of a padded tensor: a cache
/// line of f32 data.
inline constexpr std::int64_t padded_gap = 16;

/// Gives Q and K the strides of the workload's layout, and a cache its pages. Call it again when a
/// size has changed, and only for sizes without a shape_fault().
void lay_out(Workload& workload);

/// Has Q and K normalized in the same call (rope_norm), with weights. Out of place alone.
void take_norm(Workload& workload);
/// Has K, and V with as many heads, appended to a paged cache in the same call (rope_append), out
/// of place alone. Sequences have the pages that an engine leaves them: scattered, half of the
/// cache.
void take_append(Workload& workload);
inline bool is_fusing(const harness::Case& c) {
  return harness::has_norm(c) || harness::has_append(c);
}

/// The workload with this number of tokens. Kernel, property and seed are left to the caller.
harness::Case case_of(Workload workload, std::int64_t tokens);

/// The frequencies as a kernel of its own angles gets them; f32: by ROPE_CONTRACT_F32_ANGLE,
/// widened to double. [rotary_dim / 2]
std::vector<double> inv_freq_of(harness::Case workload, bool f32);

/// Whether Q and K begin at multiples of 64 bytes, if their buffers do.
bool begins_aligned(const Workload& workload);

/// The case of a call that is timed. `table`: the angles come from a table, by position. `unfused`:
/// the rotation alone of a workload that fuses, which after a norm is in place.
harness::Case timed_case(const Workload& workload, bool table, Operation operation, bool unfused);

/// Its problem. `inv_freq` ([rotary_dim / 2]) must outlive it. angle_source is ROPE_ANGLES_TABLE
/// (by position, in the dtype of the data) or ROPE_ANGLES_INV_FREQ. `nodes`: of the problem's
/// chain; NULL: without a chain.
rope_problem make_problem(const Workload& workload, const std::vector<double>& inv_freq,
                          std::int32_t angle_source, Operation operation,
                          harness::ProblemNodes* nodes = nullptr, bool unfused = false);

}  // namespace ropewalk::bench
