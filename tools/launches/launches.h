// Runs a bench from its first launch to its last. Each launch is a fresh process that verifies what
// it times. It is restarted without the kernels that failed.
#pragma once
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "harness/expected/expected.h"
#include "harness/worker/worker.h"
#include "properties/search/verify.h"
#include "tools/command/options.h"
#include "tools/command/session.h"
#include "tools/launches/board.h"
#include "tools/launches/budget.h"
#include "tools/launches/kernels_to_time.h"

namespace ropewalk::tools {

/// Why a kernel has no speed. `known` is VerdictRow::known of the failure.
struct Breakage {
  std::string reason, known;
};

/// Decides which kernels may be timed. A kernel is verified before, partly in the process that
/// times it, and its workloads' shapes are checked there before and afterwards. A kernel that
/// failed is remembered with the reason, and has no speed from then on.
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

/// Boards ended again and again while no kernel's code ran. The command exits with 1.
struct BoardLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Launches {
 public:
  Launches(const BenchOptions& options, std::vector<bench::Workload> workloads);

  /// Returns the exit code. After it the rows are complete, and a kernel that broke has no number
  /// in them.
  int run(const std::function<void(const report::VerdictRow&)>& on_verdict,
          const std::function<void(const report::TimingRow&)>& on_row);

 private:
  int run_all();
  /// Its table is all that comes of it.
  int run_google_benchmark(const std::function<void(const report::VerdictRow&)>& on_verdict);
  int run_launch(std::int64_t launch);
  int run_launch(std::int64_t launch, std::int32_t memory);
  int pick_ceilings();
  harness::Worker::TimeResult time_board(const BoardRequest& request, std::int64_t launch,
                                         std::int32_t memory);
  bool is_out_of_time();
  void blame(const harness::Worker::TimeResult& timed);
  harness::Worker::BoardSinks sinks_of(const BoardRequest& request, std::int64_t launch,
                                       const std::function<void(report::TimingRow)>& on_row);
  BoardRequest request_for(std::int64_t launch, std::int32_t memory);
  void break_off(const std::string& kernel, const std::string& why);
  void forget_groups_led_by(const std::string& kernel);
  void take(report::TimingRow row);
  void settle();
  void say_broken(std::FILE* to) const;
  void say_what_none_takes(std::FILE* to) const;
  void emit(const std::function<void(const report::TimingRow&)>& on_row);
  void say_plan() const;
  std::string time_left(std::int64_t launch, const std::string& label) const;
  std::size_t place_of(const std::string& workload) const;
  int exit_code() const;

  const BenchOptions& options_;
  std::vector<bench::Workload> workloads_;
  Effort effort_;
  Budget budget_;
  Progress progress_;
  KernelsToTime kernels_;
  std::map<std::int32_t, harness::Worker> workers_;  // by the memory of their kernels
  Gate gate_;
  // What was timed so far, until the results hold it. They are written at the end: only then is it
  // known which kernels broke, and those have no number in them.
  Recorder kept_;
  std::set<std::int32_t> verified_;  // memories whose kernels were verified in full
  std::map<std::string, std::vector<std::string>> ceilings_;  // by workload
  std::set<std::int64_t> complete_;                           // numbers of launches
  std::vector<report::TimingRow> rows_;
  bool valid_ = true;
  std::vector<report::TimingRow> left_out_;  // of workloads without time
  int lost_ = 0;                             // boards that ended while no kernel's code ran
};

}  // namespace ropewalk::tools
