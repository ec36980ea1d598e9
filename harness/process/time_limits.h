// How long a call may take before it counts as a hang.
#pragma once
#include <sys/types.h>

#include "harness/protocol.h"

namespace ropewalk::harness {

/// How many times slower than usual kernels run here: 1 on an ordinary processor, about 7 under an
/// emulator (which is measured, once, by CPU time), and 10 times that with sanitizers.
double slowness();

/// CPU time for `prepare`, which is untimed by contract and may build tables.
inline double prepare_limit_s() {
  return 60 * slowness();
}

/// CPU time for one call: the larger of one second and a hundred times what is usual for as much
/// data. From the size alone: the verdict must not depend on which kernels ran before.
double apply_limit_s(const protocol::CallDescriptor& call);

/// Those limits are of CPU time. One who waits gets this long. Time in which it could run, and
/// others have the processor, does not count, up to so many times as long.
double waiting_limit_s(double limit_s);
inline constexpr double starving_factor = 30;

/// Whether a process could run right now; false where the system does not tell.
bool is_runnable(pid_t process);

/// What a process has run so far; 0 where the system does not tell.
double cpu_time_s(pid_t process);

}  // namespace ropewalk::harness
