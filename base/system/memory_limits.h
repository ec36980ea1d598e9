// How much memory this process may still use, and what limits it. The limits are those of the
// machine, its control groups (version 2, from its own group up to the visible root), and its
// resource limits.
#pragma once
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/system/system_files.h"

namespace ropewalk {

inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max();

struct MemoryLeft {
  std::int64_t bytes = unlimited_memory;  ///< unlimited_memory if no limit is known
  std::string by;  ///< "on this machine", "in a control group of 200 MiB", "under ulimit -v"
};

/// The memory that the machine and the control groups leave to all processes of a run together.
/// File pages that the system can take back count as left.
MemoryLeft shared_memory_left(const SystemFiles& files = SystemFiles());

/// The same for this process alone: its resource limits may leave less.
MemoryLeft memory_left(const SystemFiles& files = SystemFiles());

/// Why `bytes` more cannot be had, or an empty text. Example: "needs 900 MiB of memory, 170 MiB are
/// left in a control group of 200 MiB". Below 2 MiB nothing is checked.
std::string memory_refusal(std::int64_t bytes, const SystemFiles& files);

/// The same for this system. Reading the system takes 0.5 ms, so a value serves for 0.2 s, less
/// what was granted since.
std::string memory_refusal(std::int64_t bytes);

/// The memory that a case needs is not there, so the case is SKIPPED.
class NoMemory : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How many processes the system has killed for the memory of this process's groups; -1 if the
/// system does not tell.
std::int64_t memory_kills(const SystemFiles& files = SystemFiles());

/// The explanation of a SIGKILL; empty if no such kill came after the first count.
std::string memory_kill_text(std::int64_t kills_before, const SystemFiles& files = SystemFiles());

/// A number of /proc/meminfo in bytes, or -1 if there is none.
std::int64_t meminfo_bytes(const SystemFiles& files, std::string_view key);

}  // namespace ropewalk
