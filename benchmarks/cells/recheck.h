// Judges what a timed call left in the buffers, in the process that timed it: long after
// verification, with inputs that no call before has seen.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/cells/workload_memory.h"
#include "benchmarks/workloads/workloads.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"

namespace ropewalk::bench {

/// Calls that turn an input.
struct Turns {
  /// Their positions, one call after the other. Forward and back in turn leave one of them or none.
  std::vector<std::vector<std::int32_t>> by;
  /// Their number. In place, the bound of n > 1 calls is 1.5 n times that of one call
  /// (docs/decisions/0036).
  std::uint64_t calls = 1;
};

/// The result that the calls should have left.
struct Expected {
  /// How rows are judged: by the bound; by what any number of right calls leaves, which is the
  /// elements outside the window and, if the kernel declares no error_bound, no NaN and the length
  /// of Q and of K within 1 %, where they have 2,048 pairs; or not, as their input is not known.
  enum class Rows { exactly, by_length, not_at_all };
  Rows rows = Rows::exactly;
  Turns all;  ///< of the input
  /// The calls since an element of the buffer changed, of its window as it was then
  /// (WorkloadMemory::witness). That head is judged exactly by them, and not by all calls.
  std::optional<Turns> since;
};

/// Compares what was left with the expected rotation of what was given, by the judge of
/// verification (harness/judge/judge.h). Of a workload of more than 1,024 heads (of all tokens) at
/// most 65 tokens are judged, the one that changed, the first, the last, those of the largest
/// positions, and others chosen by `seed`; and of these some 1,024 heads, with all their pairs and
/// elements. Returns what is wrong, in one line, or an empty text.
std::string recheck(const rope_kernel& kernel, const Workload& workload, const WorkloadMemory& rows,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed);

}  // namespace ropewalk::bench
