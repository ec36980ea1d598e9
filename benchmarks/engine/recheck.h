// Judges what a timed call left in the buffers, in the process that timed it: long after
// verification, with inputs that no call before has seen.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/engine/workload_data.h"
#include "benchmarks/workloads/workloads.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"

namespace ropewalk::bench {

/// The result that the calls should have left.
struct Expected {
  /// The positions of the calls by which the input is turned, one after the other. Forward and back
  /// in turn in place leave one of them or none.
  std::vector<std::vector<std::int32_t>> turned_by;
  /// The number of calls, in place, that led to this result. The bound of n > 1 calls is 1.5 n
  /// times that of one call (docs/decisions/0036).
  std::uint64_t calls = 1;
  /// Several calls in place of 16-bit data, each of which rounded, or all forward. Only the
  /// elements outside the window are judged and, if the kernel declares no error_bound, NaN and the
  /// length of Q and of K within 1 %, where they have 64 pairs.
  bool drifted = false;
};

/// Compares the working buffers with the expected rotation of the pristine ones, by the judge of
/// verification (harness/judge/judge.h). Of a large workload at most 65 tokens are judged, with all
/// their heads, pairs and elements: `expected.token`, the first, the last, those of the largest
/// positions, and tokens chosen by `seed`. Returns what is wrong, in one line, or an empty text.
std::string recheck(const rope_kernel& kernel, const Workload& workload, const WorkloadData& data,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed);

}  // namespace ropewalk::bench
