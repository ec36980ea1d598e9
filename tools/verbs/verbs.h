// One function for each verb. Each returns an exit code. main turns an exception into one line and
// code 2.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/worker/worker_main.h"
#include "reports/record/record.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

int run(const ListOptions& options);
int run(const ConfigOptions& options);
int run(const VerifyOptions& options);
int run(const MergeOptions& options);
int run(const ReplayOptions& options);
int run(const MutantsOptions& options);
int run(const BenchOptions& options);
int run(const DoctorOptions& options);
int run(const EncodingsOptions& options);
int run(const ReportOptions& options);
int run(const CompareOptions& options);
int run(const RunOptions& options);
int run(const IdentifyOptions& options);
int run(const DiffOptions& options);
int run(const VectorsOptions& options);
int run(const IncludeDirOptions& options);

void print_workloads(const WorkloadChoice& choice);

/// The verb encodings: docs/encodings.md as it was when this was built.
std::string_view encodings_page();

/// Verifies kernels and prints each one when it is judged. Every row goes to on_row at once. Both
/// `verify` and `run` use it.
int verify_and_print(const VerifyOptions& options,
                     const std::function<void(const report::VerdictRow&)>& on_row);

/// Verifies each kernel of a device among these rows once more below each tool of
/// compute-sanitizer, with one case of each property. Each makes a row, which is SKIPPED if the
/// tool did not run to its end. Throws UsageError if there is no such kernel.
void run_sanitizers(const VerifyOptions& options, const std::vector<report::VerdictRow>& verified,
                    const std::function<void(report::VerdictRow)>& on_row,
                    const std::function<void(const std::string&)>& on_progress);

/// The verb verify with --exhaustive.
int run_exhaustive(const VerifyOptions& options);

}  // namespace ropewalk::tools
