#include "base/system/memory_limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

namespace ropewalk {
namespace {

constexpr std::int64_t no_limit_from = std::int64_t{1} << 60;

// The folders of this process's control group and of those above it, up to the visible root.
std::vector<std::string> group_folders(const SystemFiles& files) {
  std::string group = files.line_value("/proc/self/cgroup", "0", ':');  // ":/user.slice/job"
  std::vector<std::string> out{"/sys/fs/cgroup/"};
  for (; group.starts_with(":/") && group.size() > 2; group.erase(group.rfind('/')))
    out.push_back("/sys/fs/cgroup" + group.substr(1) + '/');
  return out;
}

std::int64_t bounded(std::int64_t bytes) {
  return std::clamp<std::int64_t>(bytes, 0, no_limit_from);
}

// The memory in use that the system cannot take back: cached pages of files count as used.
std::int64_t used_in(const SystemFiles& files, const std::string& group) {
  std::int64_t used = bounded(files.number(group + "memory.current"));
  for (const char* key : {"inactive_file", "active_file"})
    used -= bounded(leading_number(files.line_value(group + "memory.stat", key, ' ')));
  return std::max<std::int64_t>(used, 0);
}

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

MemoryLeft memory_left(const SystemFiles& files) {
  const auto kib = [&](const char* file, const char* key) {
    return leading_number(files.line_value(file, key, ':'));
  };
  MemoryLeft left;
  if (const std::int64_t free = kib("/proc/meminfo", "MemAvailable"); free >= 0)
    take(left, std::min(free, no_limit_from >> 10) << 10, "on this machine");
  for (const std::string& group : group_folders(files))
    if (const std::int64_t most = files.number(group + "memory.max");
        most >= 0 && most < no_limit_from)
      take(left, most - used_in(files, group),
           fmt::format("in a control group of {} MiB", most >> 20));
  rlimit addresses{};
  getrlimit(RLIMIT_AS, &addresses);
  if (addresses.rlim_cur < static_cast<rlim_t>(no_limit_from))
    take(left,
         static_cast<std::int64_t>(addresses.rlim_cur) -
             (bounded(kib("/proc/self/status", "VmSize")) << 10),
         "under ulimit -v");
  return left;
}

std::string memory_refusal(std::int64_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t always_tried = std::int64_t{2} << 20;
  constexpr std::chrono::milliseconds serves{200};
  static std::mutex alone;
  static MemoryLeft left{.bytes = 0, .by = {}};
  static Clock::time_point read;
  if (bytes <= always_tried) return {};
  const std::lock_guard lock(alone);
  const Clock::time_point now = Clock::now();
  if (now - read > serves || !refusal(bytes, left).empty()) {
    left = memory_left();
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

}  // namespace ropewalk
