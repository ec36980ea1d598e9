// Judges what a timed call left in the buffers, in the process that timed it: long after
// verification, with inputs that no call before has seen.
#pragma once
#include <cstdint>
#include <string>

#include "benchmarks/engine/workload_data.h"
#include "benchmarks/workloads/workloads.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"

namespace ropewalk::bench {

/// The result that the calls should have left.
struct Expected {
  const std::int32_t* positions;  ///< the positions of the last call
  int turns = 1;                  ///< the calls in all: 1 forward, 0 no rotation, -1 back
  /// The number of calls, in place, forward and back in turn, that led to this result. The bound of
  /// n > 1 calls is 1.5 n times that of one call (docs/decisions/0036).
  std::uint64_t calls = 1;
  /// Several calls of 16-bit data in place, each of which rounded. Only the elements outside the
  /// window are judged and, if the kernel declares no error_bound, NaN and the length of Q and of K
  /// within 1 %, where they have 64 pairs.
  bool drifted = false;
  std::int64_t token = 0;  ///< an index in the whole batch; this token is always judged
};

/// Compares the working buffers with the expected rotation of the pristine ones, by the judge of
/// verification (harness/judge/judge.h). Of a large workload at most 65 tokens are judged, with all
/// their heads, pairs and elements: `expected.token`, the first, the last, those of the largest
/// positions, and tokens chosen by `seed`. Returns what is wrong, in one line, or an empty text.
std::string recheck(const rope_kernel& kernel, const Workload& workload, const WorkloadData& data,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed);

}  // namespace ropewalk::bench
