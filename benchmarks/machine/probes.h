// Small measurements of the machine itself: its clock, its speed, who else is running.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "base/system/system_files.h"

namespace ropewalk::bench {

/// One step of a chain of dependent multiplications, in ns: the frequency, seen from inside.
struct SpinProbe {
  double ns_a_step = 0;  ///< median of the samples
  double spread = 0;     ///< (90th percentile - fastest) / fastest
};
/// About 20 ms for 101 samples.
SpinProbe spin_probe(int samples = 101);

/// What that chain costs right after a burst of 512-bit multiplications, over what it costs after
/// one of scalar ones: above 1 where wide vectors slow down whoever comes next. Nothing without
/// AVX-512. About 20 ms.
std::optional<double> scalar_after_512_bit();

/// What reading the clock costs, and the smallest difference it tells, in ns.
struct TimerProbe {
  double overhead_ns = 0, resolution_ns = 0;
};
TimerProbe timer_probe();

/// Time by kind since boot, in ticks, of one line of /proc/stat.
struct CpuTicks {
  std::int64_t busy = 0, idle = 0, stolen = 0;
};
/// `name`: cpu for all, cpu0, cpu1, ... Empty where it cannot be read.
std::optional<CpuTicks> cpu_ticks(const SystemFiles& files, const std::string& name);

/// Stolen share of all time since boot; nothing where it cannot be read.
std::optional<double> stolen_share(const SystemFiles& files);

/// Whether this process may count its own instructions (perf_event_open).
bool perf_counters_readable();

}  // namespace ropewalk::bench
