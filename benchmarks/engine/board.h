// The board: kernels x workloads, driven by Google Benchmark inside the process that holds the
// kernels. The harness takes the time, never the kernel. A kernel that failed verification gets no
// number.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/cells/cells.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/device/device.h"
#include "reports/record/record.h"

namespace ropewalk::bench {

struct BoardPlan {
  std::vector<Workload> workloads;
  std::vector<Contestant> contestants;
  /// The user's own --benchmark_* flags. They override the defaults of the board.
  std::vector<std::string> benchmark_args;
  harness::Device* device = nullptr;  ///< as in PairedPlan
  std::uint64_t seed = 1;             ///< seed of values and scattered positions
  bool quick = false;                 ///< profile smoke: short repetitions
  bool silent = false;                ///< shows neither table nor context
  /// Called with each finished row (MEASURED, BROKEN or SKIPPED) as soon as its repetitions are
  /// complete.
  std::function<void(const report::TimingRow&)> on_row;
  /// Called with '<kernel>|<workload>' when that kernel's code is about to run: before supports,
  /// prepare and each repetition. Called with an empty text when no kernel's code runs. It lets the
  /// parent name a kernel that crashes.
  std::function<void(const std::string& label)> now_running;
  /// Called with the library's own table and context as they appear. `remark` marks text meant for
  /// standard error. If it is empty, both go to the standard streams.
  std::function<void(const std::string& text, bool remark)> show;
};

/// The fault of the first flag that run_board() would refuse, in one line; empty if there is none.
/// Call it before anything is measured.
std::string benchmark_flag_fault(const std::vector<std::string>& args);

/// The number of repetitions that the flags ask for; 5 by default.
std::int64_t benchmark_repetitions(const std::vector<std::string>& args);

/// Registers each kernel that accepts a workload as '<kernel>|<workload>', and a ceiling for each
/// workload that a kernel accepts. An unsupported pair is left out. Then runs what the flags
/// select. A '|' in --benchmark_filter separates alternatives, so write '[|]' for the one between
/// the names. Returns 0 if it ran, 2 for a flag or filter that is not understood, and 3 if nothing
/// was selected or supported. May be called again in one process; Google Benchmark keeps the flags
/// of the first call as defaults.
int run_board(const BoardPlan& plan);

}  // namespace ropewalk::bench
