#include "base/system/memory_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <string_view>

namespace ropewalk {
namespace {

constexpr std::int64_t no_limit_from = std::int64_t{1} << 60;

// The folders of this process's control group and of those above it, up to the visible root. A
// group outside of the visible tree, as a container may have, counts as the root.
std::vector<std::string> group_folders(const SystemFiles& files) {
  std::string group;
  for (const std::string& line : files.lines("/proc/self/cgroup"))
    if (line.starts_with("0::/")) group = line.substr(3);
  if ((group + '/').find("/../") != std::string::npos) group.clear();
  while (group.ends_with('/')) group.pop_back();
  std::vector<std::string> out;
  for (;; group.erase(group.rfind('/'))) {
    out.push_back("/sys/fs/cgroup" + group + '/');
    if (group.empty()) return out;
  }
}

// In bytes; -1: none.
std::int64_t limit_of(const SystemFiles& files, const std::string& group) {
  const std::int64_t limit = files.number(group + "memory.max");
  return limit >= no_limit_from ? -1 : limit;
}

// The memory in use that the system cannot take back. Cached file pages count as used, but can be
// taken back.
std::int64_t used_in(const SystemFiles& files, const std::string& group) {
  const auto bounded = [](std::int64_t n) { return std::clamp<std::int64_t>(n, 0, no_limit_from); };
  std::int64_t used = bounded(files.number(group + "memory.current"));
  for (const char* key : {"inactive_file", "active_file"})
    used -= bounded(leading_number(files.line_value(group + "memory.stat", key, ' ')));
  return std::max<std::int64_t>(used, 0);
}

// The address space that "Max address space         4294967296           unlimited bytes" grants;
// -1: no limit.
std::int64_t address_space(const SystemFiles& files) {
  constexpr std::string_view name = "Max address space";
  for (const std::string& line : files.lines("/proc/self/limits"))
    if (const auto at = line.find_first_not_of(' ', name.size());
        line.starts_with(name) && at != std::string::npos)
      return leading_number(std::string_view(line).substr(at));
  return -1;
}

constexpr std::int64_t always_tried = std::int64_t{2} << 20;
constexpr std::chrono::milliseconds serves{200};

std::string refusal(std::int64_t bytes, const MemoryLeft& left) {
  // This process must not take all that is left, since other processes of the run need memory too.
  constexpr std::int64_t kept = std::int64_t{24} << 20;
  if (left.bytes == unlimited_memory || bytes <= std::min(left.bytes / 10 * 9, left.bytes - kept))
    return {};
  return fmt::format("needs {} MiB of memory, {} MiB are left {}", bytes >> 20, left.bytes >> 20,
                     left.by);
}

void take(MemoryLeft& left, std::int64_t bytes, const std::string& by) {
  if (bytes < left.bytes) left = {std::max<std::int64_t>(bytes, 0), by};
}

}  // namespace

std::int64_t meminfo_bytes(const SystemFiles& files, std::string_view key) {
  const std::int64_t kib = leading_number(files.line_value("/proc/meminfo", key, ':'));
  return kib < 0 || kib > unlimited_memory / 1024 ? -1 : kib * 1024;
}

MemoryLeft shared_memory_left(const SystemFiles& files) {
  MemoryLeft left;
  if (const std::int64_t free = meminfo_bytes(files, "MemAvailable"); free >= 0)
    take(left, free, "on this machine");
  for (const std::string& group : group_folders(files))
    if (const std::int64_t limit = limit_of(files, group); limit >= 0)
      take(left, limit - used_in(files, group),
           fmt::format("in a control group of {} MiB", limit >> 20));
  return left;
}

MemoryLeft memory_left(const SystemFiles& files) {
  MemoryLeft left = shared_memory_left(files);
  const std::int64_t used_kib =
      leading_number(files.line_value("/proc/self/status", "VmSize", ':'));
  if (const std::int64_t limit = address_space(files); limit >= 0)
    take(left, limit - std::clamp<std::int64_t>(used_kib, 0, no_limit_from / 1024) * 1024,
         "under ulimit -v");
  return left;
}

std::string memory_refusal(std::int64_t bytes, const SystemFiles& files) {
  return bytes <= always_tried ? "" : refusal(bytes, memory_left(files));
}

std::string memory_refusal(std::int64_t bytes) {
  using Clock = std::chrono::steady_clock;
  static std::mutex alone;
  static MemoryLeft left;
  static std::optional<Clock::time_point> read;
  if (bytes <= always_tried) return {};
  const std::lock_guard lock(alone);
  const Clock::time_point now = Clock::now();
  if (!read || now - *read > serves || !refusal(bytes, left).empty()) {
    left = memory_left(SystemFiles());
    read = now;
  }
  const std::string why = refusal(bytes, left);
  if (why.empty() && left.bytes != unlimited_memory) left.bytes -= bytes;
  return why;
}

std::int64_t memory_kills(const SystemFiles& files) {
  std::int64_t most = -1;
  for (const std::string& group : group_folders(files))
    most =
        std::max(most, leading_number(files.line_value(group + "memory.events", "oom_kill", ' ')));
  return most;
}

std::string memory_kill_text(std::int64_t kills_before, const SystemFiles& files) {
  if (kills_before < 0 || memory_kills(files) <= kills_before) return {};
  std::int64_t limit = -1;
  for (const std::string& group : group_folders(files))
    if (const std::int64_t own = limit_of(files, group); own >= 0)
      limit = limit < 0 ? own : std::min(limit, own);
  return limit < 0 ? "the system killed a process for lack of memory"
                   : fmt::format(
                         "the system killed a process for lack of memory, the limit of "
                         "its control group is {} MiB",
                         limit >> 20);
}

}  // namespace ropewalk
