// Verifying with several processes: the same rows in the same order as verify() gives, sooner.
#pragma once
#include <functional>
#include <string>

#include "harness/worker/worker.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {

/// As many as there are processors for this process, 8 at most.
int usual_judges();

/// The plan, kernel by kernel, shared out among `judges` forked processes, each with workers and
/// an oracle of its own (RapidCheck keeps static state: threads would not do). A kernel runs in a
/// worker that has its plugin alone, and the tree's kernels in one without plugins. Rows come in
/// the order of the kernels. Throws what verify() throws, and std::runtime_error when a judge dies.
void verify_with_judges(const harness::WorkerOptions& options, const VerifyPlan& plan, int judges,
                        const std::function<void(const report::VerdictRow&)>& on_row,
                        const std::function<void(const std::string&)>& on_progress);

}  // namespace ropewalk::properties
