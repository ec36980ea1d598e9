#include "benchmarks/environment.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

#include "benchmarks/build_info.h"
#include "benchmarks/git_revision.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk {
namespace {

using Words = std::map<std::string, std::string>;
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string trimmed(std::string_view text) {
  const auto from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(" \t") - from + 1));
}

/// The value behind `key` and a ':' or '=' in a file of such lines.
std::string line_value(const std::string& file, std::string_view key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto at = line.find(separator);
    if (at != std::string::npos && trimmed(std::string_view(line).substr(0, at)) == key)
      return trimmed(std::string_view(line).substr(at + 1));
  }
  return {};
}

/// The number a text begins with, or -1.
std::int64_t leading_number(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "48K" as "48 KiB".
std::string cache_size(const std::string& size) {
  if (size.empty() || (size.back() != 'K' && size.back() != 'M')) return size;
  return size.substr(0, size.size() - 1) + ' ' + size.back() + "iB";
}

std::string caches() {
  std::string out;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = first_line(folder + "level"), type = first_line(folder + "type");
    if (level.empty()) break;
    const char* kind = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    out += fmt::format("{}L{}{} {}", out.empty() ? "" : ", ", level, kind,
                       cache_size(first_line(folder + "size")));
    if (const std::string shared = first_line(folder + "shared_cpu_list"); !shared.empty())
      out += fmt::format(" (cpus {})", shared);
  }
  return out;
}

std::string affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::to_string(CPU_COUNT(&set)) : "";
}

std::string virtualization() {
  const std::string flags = ' ' + line_value("/proc/cpuinfo", "flags", ':') + ' ';
  if (flags == "  ") return {};
  if (flags.find(" hypervisor ") == std::string::npos) return "none seen";
  const std::string product = first_line("/sys/class/dmi/id/sys_vendor");
  return product.empty() ? "hypervisor" : "hypervisor (" + product + ")";
}

std::string mebibytes(std::int64_t bytes) {
  return bytes <= 0 || bytes == unlimited ? "" : fmt::format("{} MiB", bytes >> 20);
}

std::int64_t meminfo_bytes(std::string_view key) {
  const std::int64_t kib = leading_number(line_value("/proc/meminfo", key, ':'));
  return kib < 0 ? -1 : kib * 1024;
}

std::string load_average() {
  double load[3];
  if (getloadavg(load, 3) != 3) return {};
  return fmt::format("{:.2f} {:.2f} {:.2f}", load[0], load[1], load[2]);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

/// "always [madvise] never" as "madvise".
std::string chosen(const std::string& line) {
  const auto from = line.find('['), to = line.find(']');
  if (from == std::string::npos || to == std::string::npos || to < from) return line;
  return line.substr(from + 1, to - from - 1);
}

void describe_processor(Words& words) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cpufreq/";
  words["cpu_model"] = line_value("/proc/cpuinfo", "model name", ':');
  words["cpu_microcode"] = line_value("/proc/cpuinfo", "microcode", ':');
  words["cpu_count"] = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  words["cpu_affinity_count"] = affinity_count();
  words["cpu_quota"] = first_line("/sys/fs/cgroup/cpu.max");
  words["cpu_caches"] = caches();
  words["cpu_features"] = joined(cpu_features());
  words["cpu_frequency_governor"] = first_line(folder + "scaling_governor");
  words["cpu_frequency_khz_max"] = first_line(folder + "cpuinfo_max_freq");
  words["cpu_smt"] = first_line("/sys/devices/system/cpu/smt/control");
  words["virtualization"] = virtualization();
}

void describe_system(Words& words) {
  utsname name{};
  if (uname(&name) == 0) {
    words["kernel"] = fmt::format("{} {}", name.sysname, name.release);
    words["machine"] = name.machine;
  }
  std::string system = line_value("/etc/os-release", "PRETTY_NAME", '=');
  system.erase(std::remove(system.begin(), system.end(), '"'), system.end());
  words["system"] = system;
  words["memory_total"] = mebibytes(meminfo_bytes("MemTotal"));
  words["memory_available"] = mebibytes(available_memory_bytes());
  words["page_size_bytes"] = std::to_string(sysconf(_SC_PAGESIZE));
  words["transparent_huge_pages"] =
      chosen(first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  words["load_average"] = load_average();
}

void describe_build(Words& words) {
  words["compiler"] = build_info::compiler;
  words["compiler_flags"] = build_info::flags;
  words["build_type"] = build_info::build_type;
  words["sanitizer"] = build_info::sanitizer[0] != '\0' ? build_info::sanitizer : "none";
  words["git_revision"] = build_info::git_revision;
  words["library_boost"] = build_info::boost;
  words["library_eigen"] = build_info::eigen;
  words["library_google_benchmark"] = build_info::google_benchmark;
  words["library_fmt"] = build_info::fmt;
  words["library_tomlplusplus"] = build_info::tomlplusplus;
}

}  // namespace

std::map<std::string, std::string> describe_environment() {
  Words words = {{"kernel", ""}, {"machine", ""}};
  describe_processor(words);
  describe_system(words);
  describe_build(words);
  for (auto& [key, value] : words)
    if (value.empty()) value = "unknown";
  return words;
}

std::int64_t available_memory_bytes() {
  std::int64_t available = meminfo_bytes("MemAvailable");
  if (available < 0) available = unlimited;
  const std::string group = "/sys/fs/cgroup/memory.";
  const std::int64_t granted = leading_number(first_line(group + "max"));
  const std::int64_t used = leading_number(first_line(group + "current"));
  if (granted < 0 || used < 0) return available;
  // Cached file pages count as used, but are given up on demand.
  std::int64_t cached = 0;
  for (const std::string_view key : {"inactive_file", "active_file"})
    cached += std::max<std::int64_t>(leading_number(line_value(group + "stat", key, ' ')), 0);
  available = std::min(available, std::max<std::int64_t>(granted - used + cached, 0));
  return available;
}

}  // namespace ropewalk
