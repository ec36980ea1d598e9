// Judges what a timed call left in the buffers, in the process that timed it: long after
// verification, with inputs that no call before has seen.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/cells/workload_memory.h"
#include "benchmarks/workloads/workloads.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"

namespace ropewalk::bench {

// Calls in place turn what the call before left, so their errors add up (drift). Forward and back
// in turn, or forward alone, n of them have 1.5 n times the bound of one, and 16-bit data 1.5 u
// more for each call before the last (docs/decisions/0036). That forbids nothing soon: where
// drifts() says so, more than few_calls calls are held to the length of the data alone.
inline constexpr std::int64_t few_calls = 5;
/// `alternates`: each second call undoes the one before.
inline bool drifts(const Workload& w, bool alternates) {
  return is_in_place(w) && (!alternates || element_bytes(w) == 2);
}

/// Calls that turn an input.
struct Turns {
  /// Their positions, one call after the other. Forward and back in turn leave one of them or none.
  std::vector<std::vector<std::int32_t>> by;
  std::uint64_t calls = 1;  ///< their number; 1 out of place
};
/// So many calls as they turn what the first of them was given. `positions`: of the last call, or
/// of the one so many calls before.
using PositionsBefore = std::function<std::vector<std::int32_t>(std::int64_t calls)>;
Turns turns_of(const Workload& workload, bool alternates, std::uint64_t calls,
               const PositionsBefore& positions);

/// The result that the calls should have left.
struct Expected {
  /// How rows are judged: by the bound; by what any number of right calls leaves, which is the
  /// elements outside the window and, if the kernel declares no error_bound, no NaN and the length
  /// of Q and of K within 1 %, where they have 2,048 pairs; or not, as their input is not known.
  enum class Rows { exactly, by_length, not_at_all };
  Rows rows = Rows::exactly;
  Turns all;  ///< of the input
  /// The calls since an element of the buffer changed, of its head as it was then
  /// (WorkloadMemory::witness). That head is judged exactly by them, and not by all calls.
  std::optional<Turns> since;
};
/// What so many calls should have left of what the first was given.
Expected expected_after(const Workload& workload, bool alternates, std::uint64_t calls,
                        const PositionsBefore& positions);

/// Compares what was left with the expected rotation of what was given, by the judge of
/// verification (harness/judge/judge.h). Of a workload of more than 1,024 heads (of all tokens) at
/// most 65 tokens are judged, the one that changed, the first, the last, those of the largest
/// positions, and others chosen by `seed`; and of these some 1,024 heads, with all their pairs and
/// elements. Returns what is wrong, in one line, or an empty text.
std::string recheck(const rope_kernel& kernel, const Workload& workload, const WorkloadMemory& rows,
                    const Expected& expected, Oracle& oracle, std::uint64_t seed);

}  // namespace ropewalk::bench
