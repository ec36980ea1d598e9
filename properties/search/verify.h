// Verification: runs every matching property on every matching kernel, in each pairing and data
// type that the kernel offers. Each combination gives one verdict row.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/glob.h"
#include "harness/expected/expected.h"
#include "harness/judge/asked_shapes.h"
#include "harness/judge/executor.h"
#include "properties/explain/causes.h"
#include "properties/judge_threads.h"
#include "properties/property.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

struct VerifyPlan {
  std::vector<std::string> kernels, properties;  ///< globs; empty: all
  std::vector<Dtype> dtypes{tensor_dtypes.begin(), tensor_dtypes.end()};
  std::vector<Dtype> other_dtypes;  ///< for a kernel that offers none of `dtypes`
  std::vector<Pairing> pairings{Pairing::half_split, Pairing::interleaved};
  harness::AskedShapes shapes;
  /// The options that chose `shapes.only`, for a line that repeats a property.
  std::vector<std::string> shape_options;
  Profile profile = Profile::standard;
  std::uint64_t seed = 1;
  bool shrink = true;
  bool until_failure = false;    ///< a kernel's first failure is its last row
  bool keeps_worker = false;     ///< also if a kernel has left its process changed
  std::int64_t cases = 0;        ///< cases for each property; 0: the profile's number
  std::int64_t array_cases = 0;  ///< at most so many of the covering array; 0: all
  bool one_case = false;         ///< of each property: of the array, the first fixed one, or drawn
  /// Called with each level that a kernel offers, before the kernel is judged. May be empty.
  std::function<void(const harness::LedgerKey&)> on_offer;
};

/// The number of cases that a profile generates for each property. Properties that judge the cases
/// of the covering array get half as many.
std::int64_t cases_of(Profile profile);

/// Judges a kernel in each of its pairings and data types, in the threads. There is a subject for
/// each. `on_progress` gets what runs next. The rows and their order do not depend on the number of
/// threads. Throws WorkerError if a worker cannot start.
void verify_kernel(JudgeThreads& threads, std::vector<harness::Subject>& subjects,
                   const VerifyPlan& plan,
                   const std::function<void(const report::VerdictRow&)>& on_row,
                   const std::function<void(const std::string&)>& on_progress);

/// The command line that judges a case of this text again, of a kernel with these facts.
std::string replay_line(const std::string& case_text, const harness::KernelFacts& facts);

/// The result of running the case of a replay line once: the finding, with its margin, and what
/// judged it.
struct Replayed {
  harness::Finding finding;
  harness::KernelFacts facts;
  const Property* property;
  Cause cause;
};
Replayed replay(harness::Worker& worker, Oracle& oracle, const harness::Case& c);

report::Verdict verdict_of(const harness::Finding& finding);

/// The exit code of a run with these verdicts: 0, 1 or 3 (README, exit codes). Known failures
/// (VerdictRow::known) do not change the code.
int exit_code_of(const std::vector<report::VerdictRow>& rows);

}  // namespace ropewalk::properties
