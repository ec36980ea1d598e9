// How long a call may take before the worker counts it as a hang.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "harness/call/descriptor.h"

namespace ropewalk::harness {

/// The factor by which kernels run slower here than usual. It is 1 on an ordinary processor. Under
/// an emulator it is about 7, measured once by CPU time. Sanitizers multiply it by 10.
double slowness();

/// CPU time in seconds for `prepare`, which is untimed by contract and may build tables.
inline double prepare_limit_s() {
  return 60 * slowness();
}

/// CPU time in seconds for one call: 1 s, or 100 times the usual time for as much data if that is
/// more, and rotary_dim / 256 times as long for wider heads, as the work may be the square of the
/// head. It depends on the shape alone, not on which kernels ran before. An interpreted kernel gets
/// 5 times as long, and 4 ms for each row of head_dim, of which Triton's interpreter takes one.
double apply_limit_s(const protocol::CallDescriptor& call, std::uint32_t flags = 0);

/// CPU time in seconds for a call of `times` as much data as one that took `part_s`: four times
/// what follows from it, at least `usual_s` and at most ten times the largest usual limit.
double scaled_limit_s(double usual_s, double part_s, double times);

/// Wall time in seconds for loading one plugin: a shared library, or a file in an interpreter's
/// language, as the import of a framework is slow.
inline constexpr double library_load_limit_s = 20, script_load_limit_s = 120;

/// Those limits of calls are CPU time. A call that sleeps may take waiting_limit_s(limit_s) seconds
/// of wall time. Time in which the process could run while others use the processor does not count.
double waiting_limit_s(double limit_s);

/// True if a process could run now. False if the system does not tell.
bool is_runnable(pid_t process);

/// How many pauses fill a time. A loop that looks again after each pause counts them down.
inline std::int64_t pauses_in(double seconds, int pause_us) {
  return static_cast<std::int64_t>(seconds * 1e6 / pause_us);
}

/// The CPU time that a process has used, in seconds. 0 if the system does not tell.
double cpu_time_s(pid_t process);

}  // namespace ropewalk::harness
