// Decides which kernels may be timed. A kernel is verified before, partly in the process that times
// it, and its workloads' shapes are checked there before and afterwards. A kernel that failed is
// remembered with the reason, and has no speed from then on.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "harness/expected/expected.h"
#include "harness/worker/worker.h"
#include "properties/search/verify.h"
#include "tools/command/options.h"
#include "tools/command/session.h"

namespace ropewalk::tools {

/// Why a kernel has no speed. `known` is VerdictRow::known of the failure.
struct Breakage {
  std::string reason, known;
};

class Gate {
 public:
  /// Keeps references to all its arguments.
  Gate(const BenchOptions& options, const std::vector<bench::Workload>& workloads,
       std::map<std::int32_t, harness::Worker>& workers, Progress& progress);

  /// Verifies the kernels of this memory that are not broken, in their worker's present process. If
  /// a crash replaces the process, it verifies them again in the next one. `whole` uses all
  /// properties; else only the workloads' own shapes. Those of the host are shared out among
  /// processes of the same kernels, which are gone when it returns.
  void verify(std::int32_t memory, bool whole);
  /// Checks the workloads' own shapes only. `when` becomes part of the message. Unless `whole`,
  /// long workloads are checked with as few tokens as in smoke.
  void check_own_shapes(std::int32_t memory, const std::string& when, bool whole);
  /// Takes the kernel's speed away. Of several failures, the first unknown one is the reason that
  /// is shown.
  void break_off(const std::string& kernel, const std::string& why, const std::string& known = {});

  const std::vector<harness::KernelFacts>& kernels() const {
    return kernels_;
  }  ///< the kernels that were asked for
  /// Maps a kernel to why it is broken.
  const std::map<std::string, Breakage>& broken() const { return broken_; }
  bool has_news() const { return !news_.empty(); }  ///< whether a failure was not known
  bool knows(const std::string& kernel) const;
  const std::vector<report::VerdictRow>& verdicts() const { return verdicts_; }
  /// Pairs of kernel and workload that were not verified. The kernel passed no property with that
  /// pairing and type, or it refused the shape. A refusal counts only with both the reduced and the
  /// full token count.
  const std::set<std::pair<std::string, std::string>>& unverified() const { return unverified_; }

 private:
  bool passed(const harness::KernelFacts& facts, const bench::Workload& workload) const;
  harness::Finding own_shape(const harness::KernelFacts& facts, const bench::Workload& workload,
                             bool whole);
  struct Beside;
  void verify_one(const harness::KernelFacts& facts, properties::JudgeThreads& threads,
                  std::deque<Beside>& beside);
  properties::VerifyPlan plan() const;

  const BenchOptions& options_;
  const std::vector<bench::Workload>& workloads_;
  std::map<std::int32_t, harness::Worker>& workers_;  // by the memory of their kernels
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
