// How much memory this process may still use, and what limits it: the machine, its control groups
// (version 2, from its own group up to the visible root), and its address space.
#pragma once
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/system/system_files.h"

namespace ropewalk {

inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max();

struct MemoryLeft {
  std::int64_t bytes = unlimited_memory;  ///< unlimited_memory if no limit is known
  std::string by;  ///< "on this machine", "in a control group of 200 MiB", "under ulimit -v"
};

/// File pages that the system can take back count as left.
MemoryLeft memory_left(const SystemFiles& files = SystemFiles());

/// Why `bytes` more cannot be had, or an empty text. Example: "needs 900 MiB of memory, 170 MiB are
/// left in a control group of 200 MiB". Below 2 MiB nothing is checked. Reading the system takes
/// 0.5 ms, so a value serves for 0.2 s, less what was granted since.
std::string memory_refusal(std::int64_t bytes);

/// The memory that a case needs is not there, so the case is SKIPPED.
class NoMemory : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How many processes the system has killed for the memory of this process's groups; -1 if the
/// system does not tell.
std::int64_t memory_kills(const SystemFiles& files = SystemFiles());

}  // namespace ropewalk
