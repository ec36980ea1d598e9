// The timing rows of a results file, for tests that run the command. shell.h has a function with a
// name that is also in the project's namespace, so the two headers are not included together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

struct Timing {
  std::string kernel, role, outcome, workload, board;
  std::string line;  ///< the whole row as it is written
  std::int64_t launch = 0;
  std::size_t rounds = 0, iterations = 0;
  double ns_per_token_median = 0, gb_per_s_median = 0;
  /// Identifies the rows that were timed together.
  std::string group() const { return workload + "|" + board + "|" + std::to_string(launch); }
};

std::vector<Timing> timings_of(const std::filesystem::path& results);
/// The number of groups about which claims are made.
std::size_t claim_groups_of(const std::filesystem::path& results);
