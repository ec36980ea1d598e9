// Verification: every kernel that matches, every pairing and data type it offers, every property
// that matches; one verdict row each.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/glob.h"
#include "harness/expected/ledger.h"
#include "harness/judge/executor.h"
#include "properties/property.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

struct VerifyPlan {
  std::vector<std::string> kernels, properties;  ///< globs; empty: all
  std::vector<Dtype> dtypes{tensor_dtypes.begin(), tensor_dtypes.end()};
  std::vector<const Property*> more;  ///< judged too, whatever `properties` says
  Profile profile = Profile::standard;
  std::uint64_t seed = 1;
  bool shrink = true;
  bool until_failure = false;  ///< the first failure of a kernel is its last row
  std::int64_t cases = 0;      ///< a property; 0: what the profile says
  /// Told each feature that a kernel offers, before it is judged; may be empty.
  std::function<void(const harness::LedgerKey&)> on_offer;
};

/// How many cases a profile generates for each property.
std::int64_t cases_of(Profile profile);

/// The plan for the kernel with these facts, row by row. `on_progress` is told what runs next.
/// A worker that cannot start throws WorkerError.
void verify(harness::Worker& worker, Oracle& oracle, const VerifyPlan& plan,
            const std::function<void(const report::VerdictRow&)>& on_row,
            const std::function<void(const std::string&)>& on_progress);

/// The same for one kernel.
void verify_kernel(harness::Subject& subject, const VerifyPlan& plan,
                   const std::function<void(const report::VerdictRow&)>& on_row,
                   const std::function<void(const std::string&)>& on_progress);

/// Runs the case of a replay line once: the finding, with its margin, and what it was measured by.
struct Replayed {
  harness::Finding finding;
  harness::KernelFacts facts;
  const Property* property;
};
Replayed replay(harness::Worker& worker, Oracle& oracle, const harness::Case& c);

report::Verdict verdict_of(const harness::Finding& finding);

/// What the exit code of a run of verdicts is: 0, 1 or 3 (README, exit codes). A failure that is
/// known (VerdictRow::known) is not what it is about.
int exit_code_of(const std::vector<report::VerdictRow>& rows);

}  // namespace ropewalk::properties
