// Verifies in several threads. Their number changes neither the rows nor their order.
#pragma once
#include <functional>
#include <string>

#include "harness/worker/worker.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {

/// The usual number of judges: the number of processors for this process, 8 at most.
int usual_judges();

/// Shares the plan out among `judges`: threads with a worker and an oracle each. They share out the
/// parts of a kernel, or, of many kernels, take one each. A kernel runs in workers that have only
/// its plugin. The tree's kernels run in workers without plugins. Rows come in the order of the
/// kernels. Throws WorkerError if a worker cannot start.
void verify_with_judges(const harness::WorkerOptions& options, const VerifyPlan& plan, int judges,
                        const std::function<void(const report::VerdictRow&)>& on_row,
                        const std::function<void(const std::string&)>& on_progress);

}  // namespace ropewalk::properties
