// What bench asks of the process that holds the kernels, as one JSON object
// (docs/worker-protocol.md).
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "reports/record/record_words.h"

namespace ropewalk::tools {

struct BoardRequest {
  report::Engine engine = report::Engine::paired;
  bool ceilings_only = false;  ///< pick the ceiling of each workload and time no kernel
  std::uint64_t seed = 1;
  bool quick = false, silent = false;
  std::vector<bench::Workload> workloads;
  std::map<std::string, std::string>
      contestants;  ///< kernel, and why it is broken ("" when it holds)
  std::set<std::pair<std::string, std::string>> unverified;  ///< kernel, workload
  std::vector<std::string> benchmark_args;
  // Of the paired engine (benchmarks/engine/paired.h).
  std::int64_t rounds = 20, launch = 0, epoch_us = 1000, group_ms = 30000, threads = 1;
  std::string baseline;
  std::map<std::string, std::string> ceilings;  ///< workload, variant
  std::set<std::string> done;                   ///< groups to leave out
};

std::string to_text(const BoardRequest& request);

/// Throws std::runtime_error for text that is not such an object with all its fields, for a value
/// that its field cannot hold, and for a workload that no kernel could be asked for.
BoardRequest board_request_from(const std::string& text);

}  // namespace ropewalk::tools
