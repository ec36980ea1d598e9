// One function for each verb. Each returns an exit code. main turns an exception into one line and
// code 2.
#pragma once
#include <functional>
#include <optional>
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
int run(const CheckOptions& options);
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

// ---- providers of angles, of a library or of a Python file (python/ropewalk/providers.py).
// Another process judges them: python/ropewalk/judge.py.

/// What was found in a file, and what else there is to say.
struct ProviderFile {
  std::string found;        ///< "transformers 5.24.0"
  std::string not_covered;  ///< what a verdict leaves out
  std::vector<std::string> kernels;
  std::vector<std::string> notes;
};

struct ProviderRequest {
  std::string target;                        ///< LIBRARY or FILE.py, perhaps with ::GLOB behind it
  std::vector<std::string> properties = {};  ///< globs of laws; empty: all
  std::string position = {};                 ///< the only one; empty: all
};

/// Judges the providers of a target. `on_found` is called before the first row. Throws UsageError
/// for a target that cannot be judged, and std::runtime_error if the process ends before its end.
ProviderFile judge_providers(const ProviderRequest& request,
                             const std::function<void(const ProviderFile&)>& on_found,
                             const std::function<void(report::VerdictRow)>& on_row);

/// Verifies the kernels and the providers of the target in `provided`, and prints a screen of them.
/// `position`: the only one; empty: all.
int verify_provided(const VerifyOptions& options, const std::string& position = "");

/// Repeats what a failed provider printed: "provider=TARGET property=LAW position=N".
int replay_provider(const ReplayOptions& replay);

/// Calls main(*words) of a module of the package beside the command, or MODULE:FUNCTION, in a
/// process of its own (harness/worker/python_process.h). Each line comes as its key and its text.
/// Throws UsageError for the key "error", and std::runtime_error if the process ends before the key
/// "end". `what` is shown.
void run_python(const std::string& what, const std::string& module,
                const std::vector<std::string>& words,
                const std::function<void(const std::string& key, const std::string& text)>& take);

/// Verdicts on a file of answers to the questions of `ropewalk vectors`.
int verify_answers(const std::string& file);

/// Compares two files of tensors, or two providers of angles. Returns the exit code of diff; empty:
/// the targets name kernels.
std::optional<int> diff_in_python(const DiffOptions& options);

/// A file of tensors as the words of a case with its inputs, and of one with its outputs alone.
struct DumpCase {
  std::string inputs, outputs;
};
DumpCase case_of_dump(const std::string& file, const std::string& config);

/// `ropewalk list --libraries`.
int list_libraries();

}  // namespace ropewalk::tools
