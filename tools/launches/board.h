// What bench and the process that holds the kernels send each other: a request as one JSON object
// (harness/protocol.h), and rows. The two processes may be of different builds.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/engine/paired.h"
#include "harness/worker/worker_main.h"
#include "reports/record/record.h"

namespace ropewalk::tools {

struct BoardRequest : bench::BoardPlan {
  /// Only seed, workloads, kernels and benchmark_args count then (google_benchmark.h).
  bool google_benchmark = false;
  bool ceilings_only = false;  ///< pick the ceiling of each workload and time no kernel
  std::map<std::string, std::string>
      kernels;  ///< kernel, and why it is broken (empty if it is not)
  std::set<std::pair<std::string, std::string>> unverified;  ///< kernel, workload
  std::vector<std::string> benchmark_args;
};

std::string to_text(const BoardRequest& request);

/// Throws for a text that is no such object with all its fields.
BoardRequest board_request_from(const std::string& text);

/// What a worker does when its parent tells it to time a board.
harness::TimingHandler timing_handler();

/// Reads a row as the board sent it. Throws report::BadFile unless it is a row with names of the
/// request and with numbers that can be times and counts. The row's texts steer no terminal.
report::TimingRow board_row_from(const std::string& json, const BoardRequest& request);

/// The kernel of a label KERNEL|WORKLOAD. For a twin, it is the original.
std::string kernel_of_label(const std::string& label);
/// ROPE_HOST or ROPE_CUDA, by the board.
std::int32_t memory_of(const report::TimingRow& row);
std::string group_of(const report::TimingRow& row);

}  // namespace ropewalk::tools
