// Judges what a timed call left in the buffers, in the process that timed it: long after
// verification, with inputs that no call before has seen.
#pragma once
#include <string>

#include "benchmarks/workload_data.h"
#include "benchmarks/workloads.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"

namespace ropewalk {

/// Holds the working buffers to ONE forward rotation of the pristine ones, with the bounds of
/// reference/bounds.h. Of a large workload 64 tokens are judged: the first, the last, those of the
/// largest positions, and some chosen by `seed`; every head, pair and element of them.
/// `positions`: those of the last call. `calls`: in place, forward and back in turn, it took so
/// many (an odd number) to come there. Each adds its error, and |r| of a rounded rotation once
/// more: the bound is that of one, 1.5 times for each. Returns what is wrong, in one line; empty
/// when all holds.
std::string recheck(const rope_kernel& kernel, const Workload& workload, const WorkloadData& data,
                    const std::int32_t* positions, Oracle& oracle, std::uint64_t seed,
                    std::uint64_t calls = 1);

}  // namespace ropewalk
