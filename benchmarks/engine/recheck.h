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

/// What the calls are to have done.
struct Expected {
  const std::int32_t* positions;  ///< of the last call
  int turns = 1;                  ///< in all: 1 forward, 0 none, -1 back
  /// In place, forward and back in turn, it took this many calls to come there: for more than one
  /// the bound is that of one call, 1.5 times for each (docs/decisions/0036).
  std::uint64_t calls = 1;
  std::int64_t token = 0;  ///< of the whole batch: is judged in any case
};

/// Holds the working buffers to that rotation of the pristine ones, by the judge of verification
/// (harness/judge/judge.h). Of a large workload some 65 tokens are judged: the first, the last,
/// those of the largest positions, and some chosen by `seed`; every head, pair and element of them.
/// Returns what is wrong, in one line; empty when all holds.
std::string recheck(const rope_kernel& kernel, const Workload& workload, const WorkloadData& data,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed);

}  // namespace ropewalk::bench
