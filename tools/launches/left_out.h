// What a bench leaves out before it begins.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "harness/worker/worker.h"
#include "reports/record/record.h"
#include "tools/launches/budget.h"

namespace ropewalk::tools {

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
