// Finds what makes measurements on this machine worse, and how to mend each.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/system/system_files.h"
#include "benchmarks/machine/probes.h"

namespace ropewalk::bench {

/// What is examined: facts from the system, and measurements.
struct Machine {
  SystemFiles files;
  std::int64_t cpu_count = 1;  ///< number of processors that are online
  double load_average = 0;     ///< over the last minute
  CoreProbe core;
  std::int64_t largest_workload_bytes = 0;
  std::string build_type, sanitizer;  ///< of this binary; sanitizer is empty if there is none
};

enum class Health { good, worse, unknown };

struct DoctorFinding {
  std::string name;  ///< e.g. load
  Health health = Health::good;
  std::string value;   ///< as measured or read; "not readable" if unknown
  std::string why;     ///< why it matters, in one line
  std::string remedy;  ///< what to do, in one line; empty if it is good
};

/// Makes every check, in a fixed order. Reads nothing but `machine`.
std::vector<DoctorFinding> examine(const Machine& machine);

/// Probes this machine, which takes about 0.1 s.
Machine probe_machine(std::int64_t largest_workload_bytes);

/// "good", "worse" or "not readable".
std::string_view word_of(Health health);

}  // namespace ropewalk::bench
