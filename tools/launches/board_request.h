// The request that bench sends to the process that holds the kernels, as one JSON object
// (harness/protocol.h).
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/engine/paired.h"

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

}  // namespace ropewalk::tools
