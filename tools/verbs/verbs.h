// One function a verb; each returns an exit code and throws what main turns into one line and
// code 2.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "harness/worker/worker_main.h"
#include "reports/record/record.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

int run_list(const Options& options);
int run_verify(const Options& options);
int run_merge(const Options& options);
int run_replay(const Options& options);
int run_mutants(const Options& options);
int run_bench(const Options& options);
int run_doctor(const Options& options);
int run_report(const Options& options);
int run_compare(const Options& options);
int run_everything(const Options& options);

/// Verifies and prints each kernel when it is judged; every row goes to on_row at once. What
/// `verify` and `run` share.
int verify_and_print(const Options& options,
                     const std::function<void(const report::VerdictRow&)>& on_row);

/// verify --exhaustive.
int run_exhaustive(const Options& options);

/// A failed claim as a block of lines.
void print_failure(const report::VerdictRow& row);

/// The last line of a run with failures: the one to begin with, and how to repeat it.
void print_where_to_start(const std::vector<report::VerdictRow>& rows);

/// Verifies, times and verifies again; what was found goes to on_verdict and on_row. What `bench`
/// and `run` share.
int bench_and_print(const Options& options,
                    const std::function<void(const report::VerdictRow&)>& on_verdict,
                    const std::function<void(const report::TimingRow&)>& on_row);

/// Throws UsageError or BadFile unless the options choose a workload: `run` asks before it
/// verifies.
void require_workloads(const Options& options);

/// The child side of bench: what a worker does when it is told to time a board.
harness::TimingHandler timing_handler();

}  // namespace ropewalk::tools
