// Who may be timed: kernels verified by the very process that will time them, and looked at again
// afterwards. Who failed is remembered, with the reason, and has no speed any more.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "harness/expected/known_failures.h"
#include "harness/worker/worker.h"
#include "properties/search/verify.h"
#include "tools/command/options.h"
#include "tools/command/session.h"

namespace ropewalk::tools {

/// Why a kernel has no speed; `known` as of a verdict.
struct Breakage {
  std::string reason, known;
};

class Gate {
 public:
  /// Throws UsageError unless every --kernel matches. Holds references to all it is given.
  Gate(const Options& options, const std::vector<bench::Workload>& workloads,
       harness::Worker& worker, Progress& progress);

  /// Verifies whoever is not broken in the worker's present process, and again in the next one if a
  /// crash replaces it. `whole`: by all properties, else on the workloads' own shapes alone.
  void verify(bool whole);
  /// The shapes of the workloads alone; `when` is for the message.
  void check_own_shapes(const std::string& when);
  /// From now on the kernel has no speed. The first failure that is not known is the one to name.
  void break_off(const std::string& kernel, const std::string& why, const std::string& known = {});

  const std::vector<harness::KernelFacts>& kernels() const {
    return kernels_;
  }  ///< that were asked for
  const std::map<std::string, Breakage>& broken() const { return broken_; }
  bool has_news() const { return !news_.empty(); }  ///< a failure that was not known
  bool knows(const std::string& kernel) const;
  const std::vector<report::VerdictRow>& verdicts() const { return verdicts_; }
  /// Kernel and workload: it passed no property with that pairing and type, or refused the shape,
  /// with as few tokens as are verified and with all of them.
  const std::set<std::pair<std::string, std::string>>& unverified() const { return unverified_; }

 private:
  bool passed(const harness::KernelFacts& facts, const bench::Workload& workload) const;
  harness::Finding own_shape(const harness::KernelFacts& facts, const bench::Workload& workload);
  void verify_one(const harness::KernelFacts& facts);
  properties::VerifyPlan plan() const;

  const Options& options_;
  const std::vector<bench::Workload>& workloads_;
  harness::Worker& worker_;
  Progress& progress_;
  harness::KnownFailures known_;
  Oracle oracle_;
  std::vector<harness::KernelFacts> kernels_;
  std::map<std::string, Breakage> broken_;
  std::set<std::string> news_;
  std::set<std::pair<std::string, std::string>> unverified_;
  std::vector<report::VerdictRow> verdicts_;
};

}  // namespace ropewalk::tools
