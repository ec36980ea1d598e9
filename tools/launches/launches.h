// Runs a bench from its first launch to its last. Each launch is a fresh process that verifies what
// it times. It is restarted without the kernels that failed.
#pragma once
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "tools/command/options.h"
#include "tools/command/session.h"
#include "tools/launches/board.h"
#include "tools/launches/budget.h"
#include "tools/launches/gate.h"
#include "tools/launches/kernels_to_time.h"

namespace ropewalk::tools {

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
