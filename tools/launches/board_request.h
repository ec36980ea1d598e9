// What bench asks of the process that holds the kernels, as lines of text
// (docs/worker-protocol.md).
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ropewalk::tools {

struct BoardRequest {
  std::string engine = "paired";  ///< paired, gbench, or ceilings: only pick them
  std::uint64_t seed = 1;
  bool quick = false, silent = false;
  std::string workloads_toml;  ///< those to time, whole (to_toml)
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

/// Throws std::runtime_error for a line it does not know.
BoardRequest board_request_from(const std::string& text);

}  // namespace ropewalk::tools
