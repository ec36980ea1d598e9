// The board: contestants x workloads, driven by Google Benchmark inside the process that holds the
// kernels. The harness takes the time, never the kernel; who did not verify gets no number.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/engine/cells.h"
#include "benchmarks/workloads/workloads.h"
#include "reports/record/record.h"

namespace ropewalk::bench {

struct BoardPlan {
  std::vector<Workload> workloads;
  std::vector<Contestant> contestants;
  /// The user's own --benchmark_* flags; they beat the defaults of the board.
  std::vector<std::string> benchmark_args;
  std::uint64_t seed = 1;  ///< of values and scattered positions
  bool quick = false;      ///< smoke: short repetitions
  bool silent = false;     ///< shows nothing, neither table nor context
  /// A finished cell: MEASURED, BROKEN or SKIPPED. Comes as soon as its repetitions are complete.
  std::function<void(const report::TimingRow&)> on_row;
  /// The '<kernel>|<workload>' whose code is about to run, before each repetition, and whenever a
  /// kernel is asked or prepared; empty when no contestant's code runs. A crash can thus be named.
  std::function<void(const std::string& label)> now_running;
  /// The library's own table and context (`remark`: meant for standard error), as it goes; where
  /// there is none they go to the standard streams.
  std::function<void(const std::string& text, bool remark)> show;
};

/// The fault of the first flag that run_board() would refuse, in one line; empty when there is
/// none. To be asked before anything is measured.
std::string benchmark_flag_fault(const std::vector<std::string>& args);

/// How many repetitions such flags ask for: 5 unless they say.
std::int64_t benchmark_repetitions(const std::vector<std::string>& args);

/// Registers each contestant that accepts a workload as '<kernel>|<workload>' (an unsupported pair
/// is simply absent), and for each workload with a contestant its ceiling; runs what the flags
/// select. A '|' in --benchmark_filter is an alternative: write '[|]' to mean the one between the
/// names. Returns: 0 ran; 2 a flag or filter that is not understood; 3 nothing was selected or
/// supported. May be called again in one process; Google Benchmark keeps the flags of the first
/// call as defaults.
int run_board(const BoardPlan& plan);

}  // namespace ropewalk::bench
