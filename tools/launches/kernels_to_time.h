// Decides, before anything is verified, which kernels bench can time at all, and which plugins the
// process that times them loads.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

/// Why bench does not time a kernel; empty: it does.
std::string why_not_timed(const BenchOptions& options, const harness::KernelFacts& kernel);

struct KernelsToTime {
  /// Of the processes that time, by the memory of their kernels: ROPE_HOST, and ROPE_CUDA if such a
  /// kernel is timed. The driver of a device would disturb kernels of the host. A plugin is left
  /// out if none of its kernels is timed there.
  std::map<std::int32_t, harness::WorkerOptions> workers;
  /// The kernels that were asked for and are not timed here, with the reason in `cannot_run`.
  std::vector<harness::KernelFacts> never_timed;
};

/// Lists the kernels in workers of their own. Throws UsageError unless every --kernel matches, and
/// WorkerError as kernels_by_plugin() does.
KernelsToTime kernels_to_time(const BenchOptions& options);

}  // namespace ropewalk::tools
