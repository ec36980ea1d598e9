// The request that bench sends to the process that holds the kernels, as one JSON object
// (harness/protocol.h).
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::tools {

struct BoardRequest {
  /// Only seed, workloads, kernels and benchmark_args count then (google_benchmark.h).
  bool google_benchmark = false;
  bool ceilings_only = false;  ///< pick the ceiling of each workload and time no kernel
  std::uint64_t seed = 1;
  std::vector<bench::Workload> workloads;
  std::map<std::string, std::string>
      kernels;  ///< kernel, and why it is broken (empty if it is not)
  std::set<std::pair<std::string, std::string>> unverified;  ///< kernel, workload
  std::vector<std::string> benchmark_args;
  // As in benchmarks/engine/paired.h.
  std::int64_t rounds = 20, launch = 0, epoch_us = 1000, group_ms = 30000, threads = 1;
  std::int64_t launch_ms = 0;              ///< 0: rounds count and not the time
  std::map<std::string, double> epochs_s;  ///< group, its epochs
  std::string baseline;
  std::map<std::string, std::string> ceilings;  ///< workload, variant
  std::set<std::string> done;                   ///< groups to leave out
  bool operator==(const BoardRequest&) const = default;
};

std::string to_text(const BoardRequest& request);

/// Throws for a text that is no such object with all its fields.
BoardRequest board_request_from(const std::string& text);

}  // namespace ropewalk::tools
