// What about this machine makes measurements worse, and what to do about each.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/system/system_files.h"
#include "benchmarks/machine/probes.h"

namespace ropewalk::bench {

/// What is examined: what the system tells, and what was probed.
struct Machine {
  SystemFiles files;
  std::vector<int> allowed_cpus;   ///< the processors this process may run on
  std::int64_t cpu_count = 1;      ///< those that are online
  double load_average = 0;         ///< of the last minute
  std::map<int, double> cpu_busy;  ///< share of a fifth of a second that others used, by processor
  SpinProbe spin;
  std::optional<double> scalar_after_512_bit;  ///< its time over the usual
  TimerProbe timer;
  bool perf_counters = false;
  std::int64_t largest_workload_bytes = 0;
  std::string build_type, sanitizer;  ///< of this binary; no sanitizer: empty
};

enum class Health { good, worse, unknown };

struct DoctorFinding {
  std::string name;  ///< governor, turbo, ...
  Health health = Health::good;
  std::string value;   ///< as measured or read; "not readable" when unknown
  std::string why;     ///< it matters, in one line
  std::string remedy;  ///< what to do, in one line; empty when it is good
};

/// Every check, in a fixed order. Takes nothing from the machine but what is in it.
std::vector<DoctorFinding> examine(const Machine& machine);

/// This machine, probed: about half a second.
Machine probe_machine(std::int64_t largest_workload_bytes);

/// "good", "worse", "not readable"
std::string_view word_of(Health health);

}  // namespace ropewalk::bench
