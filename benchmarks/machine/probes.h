// Small measurements of the machine itself: the state of the processor, and memory.
#pragma once
#include <cstdint>
#include <optional>

#include "base/system/system_files.h"

namespace ropewalk::bench {

/// The time of a piece of independent multiplications, and of loads over L1, in ns. A neighbour on
/// the core makes it longer, which a chain of multiplications and stolen time do not show. Takes
/// about 2 us.
double throughput_probe();

/// Its median over 0.1 s, in ns, and how far the slowest tenth lies above the fastest fiftieth.
struct CoreProbe {
  double ns = 0, spread = 0;
};
CoreProbe core_probe();

/// How fast memory is copied beyond the first caches, in bytes/s, read and written ones together.
/// Takes about 0.1 s.
double copied_bytes_per_s();

/// The first line of /proc/stat: the time since boot, in ticks.
struct CpuTicks {
  std::int64_t stolen = 0, all = 0;
};
/// Nothing if it cannot be read.
std::optional<CpuTicks> cpu_ticks(const SystemFiles& files);
/// The stolen share of all time since boot; nothing if it cannot be read.
std::optional<double> stolen_share(const SystemFiles& files);

}  // namespace ropewalk::bench
