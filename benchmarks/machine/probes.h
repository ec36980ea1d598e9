// Small measurements of the machine itself: its clock rate, its timer, and the load of other
// programs.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "base/system/system_files.h"

namespace ropewalk::bench {

/// The time of one step in a chain of dependent multiplications, in ns. It shows the clock rate
/// from inside.
struct SpinProbe {
  double ns_a_step = 0;  ///< in ns; the median of the samples
  double spread = 0;     ///< (90th percentile - fastest) / fastest
};
/// Takes about 20 ms for 101 samples.
SpinProbe spin_probe(int samples = 101);

/// The time of a piece of independent multiplications, and of loads over L1, in ns. A neighbour on
/// the core makes it longer, which a chain does not show. Takes about 2 us.
double throughput_probe();

/// Its median over 0.1 s, in ns, and how far the slowest tenth lies above the fastest fiftieth.
SpinProbe core_probe();

/// How fast memory is copied beyond the first caches, in bytes/s, read and written ones together.
/// Takes about 0.1 s.
double copied_bytes_per_s();

/// The chain's time right after a burst of 512-bit multiplications, divided by its time after a
/// burst of scalar ones. Above 1 if wide vectors slow down the code that follows. Nothing without
/// AVX-512. Takes about 20 ms.
std::optional<double> scalar_after_512_bit();

/// The time to read the clock, and the smallest difference that it shows, in ns.
struct TimerProbe {
  double overhead_ns = 0, resolution_ns = 0;
};
TimerProbe timer_probe();

/// One line of /proc/stat: the time by kind since boot, in ticks.
struct CpuTicks {
  std::int64_t busy = 0, idle = 0, stolen = 0;
};
/// `name` is cpu for all processors, or cpu0, cpu1, ... Empty if it cannot be read.
std::optional<CpuTicks> cpu_ticks(const SystemFiles& files, const std::string& name);

/// The stolen share of all time since boot; nothing if it cannot be read.
std::optional<double> stolen_share(const SystemFiles& files);

}  // namespace ropewalk::bench
