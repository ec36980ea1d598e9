// The part of the doctor that reads and probes the machine.
#include <unistd.h>

#include <algorithm>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "benchmarks/build_info.h"
#include "benchmarks/machine/doctor.h"
#include "benchmarks/machine/environment.h"

namespace ropewalk::bench {
namespace {

std::map<int, CpuTicks> ticks_of_all(const SystemFiles& files) {
  std::map<int, CpuTicks> out;
  constexpr int most = 4096;
  for (int cpu = 0; cpu < std::min<long>(sysconf(_SC_NPROCESSORS_CONF), most); ++cpu)
    if (const auto ticks = cpu_ticks(files, "cpu" + std::to_string(cpu))) out[cpu] = *ticks;
  return out;
}

/// The share of each processor that other processes use while this process sleeps.
std::map<int, double> busy_shares(const SystemFiles& files) {
  const auto before = ticks_of_all(files);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::map<int, double> out;
  for (const auto& [cpu, after] : ticks_of_all(files)) {
    const auto first = before.find(cpu);
    if (first == before.end()) continue;
    const auto busy = static_cast<double>(after.busy - first->second.busy),
               idle = static_cast<double>(after.idle - first->second.idle);
    out[cpu] = busy + idle > 0 ? busy / (busy + idle) : 0;
  }
  return out;
}

}  // namespace

Machine probe_machine(std::int64_t largest_workload_bytes) {
  Machine m;
  m.allowed_cpus = allowed_cpus();
  m.cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
  getloadavg(&m.load_average, 1);
  m.cpu_busy = busy_shares(m.files);
  m.spin = spin_probe();
  m.core = core_probe();
  m.timer = timer_probe();
  m.largest_workload_bytes = largest_workload_bytes;
  m.build_type = build_info::build_type;
  m.sanitizer = build_info::sanitizer;
  return m;
}

}  // namespace ropewalk::bench
