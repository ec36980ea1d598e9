#include "base/system/memory_limits.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

namespace ropewalk {
namespace {

// Version 1 of control groups writes "no limit" as the largest multiple of the page size.
constexpr std::int64_t no_limit_from = std::int64_t{1} << 60;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) out.push_back(part);
  return out;
}

bool has_word(const std::string& list, const std::string& word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// mountinfo writes a blank as \040.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '\\' && i + 3 < text.size() &&
                      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                  text.begin() + static_cast<std::ptrdiff_t>(i) + 4,
                                  [](char c) { return c >= '0' && c <= '7'; });
    if (code) {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// This process's group in the hierarchy of a controller; empty if it has none.
std::string own_group(const SystemFiles& files, int version, const std::string& controller) {
  for (const std::string& line : files.lines("/proc/self/cgroup")) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool found = version == 2 ? line.substr(0, first) == "0" && controllers.empty()
                                    : has_word(controllers, controller);
    if (found) return line.substr(second + 1);
  }
  return {};
}

struct Mount {
  std::string root, point;
  int version = 0;  // 0: the mount does not belong to this controller
};

// Reads a line like "35 31 0:32 /root /point rw - cgroup cgroup rw,memory".
Mount mount_of(const std::string& line, const std::string& controller) {
  const auto dash = line.find(" - ");
  if (dash == std::string::npos) return {};
  const auto before = split(line.substr(0, dash), ' '), after = split(line.substr(dash + 3), ' ');
  if (before.size() < 5 || after.empty()) return {};
  const bool first = after[0] == "cgroup" && after.size() > 2 && has_word(after[2], controller);
  const int version = after[0] == "cgroup2" ? 2 : first ? 1 : 0;
  return {unescaped(before[3]), unescaped(before[4]), version};
}

// Adds the group's folders below a mount, from the group's own up to the mount. In a container the
// group may lie outside of the mounted tree: then only the mount is added.
void add_folders(std::vector<GroupFolder>& out, const Mount& mount, std::string group) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  const bool below = group.starts_with(root) &&
                     (group.size() == root.size() || group[root.size()] == '/') &&
                     (group + '/').find("/../") == std::string::npos;
  group = below ? group.substr(root.size()) : "";
  while (group.ends_with('/')) group.pop_back();
  for (;;) {
    out.push_back({mount.point + group + '/', mount.version});
    if (group.empty()) return;
    group.erase(group.rfind('/'));
  }
}

std::int64_t least_known(std::int64_t a, std::int64_t b) {
  return a < 0 ? b : b < 0 ? a : std::min(a, b);
}

std::int64_t limit_of(const SystemFiles& files, const GroupFolder& group) {
  const std::int64_t limit = group.version == 2
                                 ? least_known(files.number(group.path + "memory.max"),
                                               files.number(group.path + "memory.high"))
                                 : files.number(group.path + "memory.limit_in_bytes");
  return limit >= no_limit_from ? -1 : limit;
}

// The memory in use that the system cannot take back. Cached file pages count as used, but can be
// taken back.
std::int64_t used_in(const SystemFiles& files, const GroupFolder& group) {
  const bool second = group.version == 2;
  const std::int64_t used =
      files.number(group.path + (second ? "memory.current" : "memory.usage_in_bytes"));
  std::int64_t cached = 0;
  for (const std::string_view key : {"inactive_file", "active_file"}) {
    const std::string name = (second ? "" : "total_") + std::string(key);
    const std::int64_t part =
        leading_number(files.line_value(group.path + "memory.stat", name, ' '));
    cached += std::clamp<std::int64_t>(part, 0, no_limit_from);
  }
  return std::max<std::int64_t>(std::clamp<std::int64_t>(used, 0, no_limit_from) - cached, 0);
}

// Reads a line like "Max address space         4294967296           unlimited            bytes".
std::int64_t resource_limit(const SystemFiles& files, std::string_view name) {
  for (const std::string& line : files.lines("/proc/self/limits"))
    if (line.starts_with(name)) {
      const auto at = line.find_first_not_of(' ', name.size());
      return at == std::string::npos ? -1 : leading_number(std::string_view(line).substr(at));
    }
  return -1;
}

std::int64_t status_bytes(const SystemFiles& files, std::string_view key) {
  const std::int64_t kib = leading_number(files.line_value("/proc/self/status", key, ':'));
  return kib < 0 ? 0 : std::min(kib, no_limit_from / 1024) * 1024;
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

std::vector<GroupFolder> group_folders(const SystemFiles& files, const std::string& controller) {
  std::vector<GroupFolder> out;
  for (const std::string& line : files.lines("/proc/self/mountinfo")) {
    const Mount mount = mount_of(line, controller);
    if (mount.version == 0) continue;
    add_folders(out, mount, own_group(files, mount.version, controller));
  }
  // If the mounts cannot be read, the usual folders are used.
  if (out.empty()) out = {{"/sys/fs/cgroup/", 2}, {"/sys/fs/cgroup/" + controller + '/', 1}};
  return out;
}

MemoryLeft shared_memory_left(const SystemFiles& files) {
  MemoryLeft left;
  if (const std::int64_t free = meminfo_bytes(files, "MemAvailable"); free >= 0)
    take(left, free, "on this machine");
  for (const GroupFolder& group : group_folders(files, "memory"))
    if (const std::int64_t limit = limit_of(files, group); limit >= 0)
      take(left, limit - used_in(files, group),
           fmt::format("in a control group of {} MiB", limit >> 20));
  return left;
}

MemoryLeft memory_left(const SystemFiles& files) {
  MemoryLeft left = shared_memory_left(files);
  const auto take_resource = [&](std::string_view name, std::string_view used, const char* by) {
    const std::int64_t limit = resource_limit(files, name);
    if (limit >= 0) take(left, limit - status_bytes(files, used), by);
  };
  take_resource("Max address space", "VmSize", "under ulimit -v");
  take_resource("Max data size", "VmData", "under ulimit -d");
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
  for (const GroupFolder& group : group_folders(files, "memory")) {
    const std::string file =
        group.path + (group.version == 2 ? "memory.events" : "memory.oom_control");
    most = std::max(most, leading_number(files.line_value(file, "oom_kill", ' ')));
  }
  return most;
}

std::string memory_kill_text(std::int64_t kills_before, const SystemFiles& files) {
  if (kills_before < 0 || memory_kills(files) <= kills_before) return {};
  std::int64_t limit = -1;
  for (const GroupFolder& group : group_folders(files, "memory"))
    limit = least_known(limit, limit_of(files, group));
  return limit < 0 ? "the system killed a process for lack of memory"
                   : fmt::format(
                         "the system killed a process for lack of memory, the limit of "
                         "its control group is {} MiB",
                         limit >> 20);
}

}  // namespace ropewalk
