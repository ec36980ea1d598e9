// How much memory this process may still use, and who says so: the machine, its control groups
// (versions 1 and 2, from its own group up to the root that it sees), and its resource limits.
#pragma once
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/system_files.h"

namespace ropewalk {

inline constexpr std::int64_t unlimited_memory = std::numeric_limits<std::int64_t>::max();

struct MemoryLeft {
  std::int64_t bytes = unlimited_memory;  ///< unlimited_memory where nothing tells
  std::string by;  ///< "on this machine", "in a control group of 200 MiB", "under ulimit -v"
};

/// What the machine and the control groups leave to all processes of a run together. File pages
/// that are given up on demand count as left.
MemoryLeft shared_memory_left(const SystemFiles& files = SystemFiles());

/// The same, or less where this process's resource limits leave less to it alone.
MemoryLeft memory_left(const SystemFiles& files = SystemFiles());

/// Why this much more cannot be had, or empty: "needs 900 MiB of memory, 170 MiB are left in a
/// control group of 200 MiB". Asks nothing below 2 MiB.
std::string memory_refusal(std::int64_t bytes, const SystemFiles& files);

/// The same of this system. To read it takes half a millisecond: what was read serves for a fifth
/// of a second, less what was granted since.
std::string memory_refusal(std::int64_t bytes);

/// What a case needs cannot be had here: it is SKIPPED.
class NoMemory : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How many processes the system has killed for the memory of this process's groups; -1 where it
/// does not tell.
std::int64_t memory_kills(const SystemFiles& files = SystemFiles());

/// What explains a SIGKILL: empty where no such kill came after the first count.
std::string memory_kill_text(std::int64_t kills_before, const SystemFiles& files = SystemFiles());

/// The folders of this process's groups that hold a controller, its own first.
struct GroupFolder {
  std::string path;
  int version = 2;
};
std::vector<GroupFolder> group_folders(const SystemFiles& files, const std::string& controller);

/// A number of /proc/meminfo in bytes, or -1.
std::int64_t meminfo_bytes(const SystemFiles& files, std::string_view key);

}  // namespace ropewalk
