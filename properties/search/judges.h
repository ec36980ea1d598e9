// Verifies with several processes. The rows and their order are those of verify(), in less time.
#pragma once
#include <functional>
#include <string>

#include "harness/worker/worker.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {

/// The usual number of judges: the number of processors for this process, 8 at most.
int usual_judges();

/// Shares the kernels of the plan out among `judges` forked processes. Each process has its own
/// workers and its own oracle, because RapidCheck keeps static state. A kernel runs in a worker
/// that has only its plugin. The tree's kernels run in a worker without plugins. Rows come in the
/// order of the kernels. Throws what verify() throws, and std::runtime_error when a judge dies.
void verify_with_judges(const harness::WorkerOptions& options, const VerifyPlan& plan, int judges,
                        const std::function<void(const report::VerdictRow&)>& on_row,
                        const std::function<void(const std::string&)>& on_progress);

}  // namespace ropewalk::properties
