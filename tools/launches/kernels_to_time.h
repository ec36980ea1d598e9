// Decides, before anything is verified, which kernels bench can time at all, which plugins the
// process that times them loads, and what there is no time for.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "harness/worker/worker.h"
#include "reports/record/record.h"
#include "tools/launches/budget.h"

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

/// Takes out the workloads for which a budget of the user has no time, the costliest first, so that
/// as many as can be are answered. Returns their rows, which are SKIPPED. If it has time for none,
/// the budget is refused.
std::vector<report::TimingRow> leave_out(std::vector<bench::Workload>& workloads,
                                         const std::vector<harness::KernelFacts>& kernels,
                                         Budget& budget);

/// Makes the rows of these groups SKIPPED that have too few launches for a claim.
void skip_groups(const std::set<std::string>& groups, std::vector<report::TimingRow>& rows);

void take_numbers_away(report::TimingRow& row, report::Outcome outcome, const std::string& why);

}  // namespace ropewalk::tools
