// Google Benchmark as the driver of kernels of the host: its own loop, flags and table. No claims
// come of it, and no rows of results.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/cells/cells.h"
#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

struct GoogleBenchmarkPlan {
  std::vector<Workload> workloads;
  std::vector<Candidate> kernels;  ///< those that are broken or unverified are left out
  std::vector<std::string> flags;  ///< the user's own --benchmark_* flags
  std::uint64_t seed = 1;          ///< of values and scattered positions
  /// As in PairedPlan.
  std::function<void(const std::string& label)> now_running;
  /// Called with the library's table and context as they appear. `remark` marks text meant for
  /// standard error.
  std::function<void(const std::string& text, bool remark)> show;
};

/// The fault of the first flag that cannot be used, in one line; empty if there is none. Call it
/// before anything is measured.
std::string benchmark_flag_fault(const std::vector<std::string>& flags);

/// Runs what the flags select of '<kernel>|<workload>'. Returns 0 if it ran, 1 if a timed kernel
/// was wrong, and 3 if nothing was selected or supported.
int run_google_benchmark(const GoogleBenchmarkPlan& plan);

}  // namespace ropewalk::bench
