#include "benchmarks/machine/environment.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/system/memory_limits.h"
#include "benchmarks/build_info.h"
#include "benchmarks/git_revision.h"
#include "benchmarks/machine/probes.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
namespace {

using Words = std::map<std::string, std::string>;
constexpr const char* not_readable = "not readable";

/// Turns "48K" into "48 KiB".
std::string cache_size(const std::string& size) {
  if (size.empty() || (size.back() != 'K' && size.back() != 'M')) return size;
  return size.substr(0, size.size() - 1) + ' ' + size.back() + "iB";
}

std::string caches(const SystemFiles& files) {
  std::string out;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const std::string level = files.first_line(folder + "level"),
                      type = files.first_line(folder + "type");
    if (level.empty()) break;
    const char* kind = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    out += fmt::format("{}L{}{} {}", out.empty() ? "" : ", ", level, kind,
                       cache_size(files.first_line(folder + "size")));
    if (const std::string shared = files.first_line(folder + "shared_cpu_list"); !shared.empty())
      out += fmt::format(" (cpus {})", shared);
  }
  return out;
}

std::string affinity() {
  std::string out;
  for (const int cpu : allowed_cpus()) out += (out.empty() ? "" : ",") + std::to_string(cpu);
  return out.substr(0, 1000);
}

std::string mebibytes(std::int64_t bytes) {
  return bytes <= 0 || bytes == unlimited_memory ? "" : fmt::format("{} MiB", bytes >> 20);
}

std::string load_average() {
  double load[3];
  if (getloadavg(load, 3) != 3) return {};
  return fmt::format("{:.2f} {:.2f} {:.2f}", load[0], load[1], load[2]);
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:.3f} %", *share * 100) : "";
}

/// "on", "off", or empty if it cannot be read.
std::string turbo_state(const SystemFiles& files) {
  const std::string cpus = "/sys/devices/system/cpu/";
  const std::int64_t off = files.number(cpus + "intel_pstate/no_turbo"),
                     boost = files.number(cpus + "cpufreq/boost");
  if (off >= 0) return off == 0 ? "on" : "off";
  return boost < 0 ? "" : boost == 0 ? "off" : "on";
}

/// "none seen", "hypervisor", "hypervisor (VENDOR)", or empty if it cannot be read.
std::string virtualization(const SystemFiles& files) {
  const std::string flags = ' ' + files.line_value("/proc/cpuinfo", "flags", ':') + ' ';
  if (flags == "  ") return {};
  if (flags.find(" hypervisor ") == std::string::npos) return "none seen";
  const std::string product = files.first_line("/sys/class/dmi/id/sys_vendor");
  return product.empty() ? "hypervisor" : "hypervisor (" + product + ")";
}

void describe_processor(const SystemFiles& files, Words& words) {
  const std::string cpus = "/sys/devices/system/cpu/", folder = cpus + "cpu0/cpufreq/";
  words["cpu_model"] = files.line_value("/proc/cpuinfo", "model name", ':');
  words["cpu_microcode"] = files.line_value("/proc/cpuinfo", "microcode", ':');
  words["cpu_count"] = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  words["cpu_affinity_count"] = std::to_string(allowed_cpus().size());
  words["cpu_affinity"] = affinity();
  words["cpu_quota"] = files.first_line("/sys/fs/cgroup/cpu.max");
  words["cpu_quota_throttled_periods"] =
      files.line_value("/sys/fs/cgroup/cpu.stat", "nr_throttled", ' ');
  words["cpu_caches"] = caches(files);
  words["cpu_features"] = fmt::format("{}", fmt::join(cpu_features(), ","));
  words["cpu_frequency_driver"] = files.first_line(folder + "scaling_driver");
  words["cpu_frequency_governor"] = files.first_line(folder + "scaling_governor");
  words["cpu_frequency_khz_min"] = files.first_line(folder + "cpuinfo_min_freq");
  words["cpu_frequency_khz_max"] = files.first_line(folder + "cpuinfo_max_freq");
  words["cpu_frequency_turbo"] = turbo_state(files);
  words["cpu_smt"] = files.first_line(cpus + "smt/control");
  words["cpu_siblings_of_cpu0"] = files.first_line(cpus + "cpu0/topology/thread_siblings_list");
  words["cpu_steal_since_boot"] = percent(stolen_share(files));
  words["clocksource"] =
      files.first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  words["numa_nodes"] = files.first_line("/sys/devices/system/node/online");
  words["virtualization"] = virtualization(files);
}

void describe_system(const SystemFiles& files, Words& words) {
  utsname name{};
  if (uname(&name) == 0) {
    words["kernel"] = fmt::format("{} {}", name.sysname, name.release);
    words["machine"] = name.machine;
  }
  std::string system = files.line_value("/etc/os-release", "PRETTY_NAME", '=');
  system.erase(std::remove(system.begin(), system.end(), '"'), system.end());
  words["system"] = system;
  words["memory_total"] =
      mebibytes(leading_number(files.line_value("/proc/meminfo", "MemTotal", ':')) << 10);
  words["memory_available"] = mebibytes(memory_left(files).bytes);
  words["swap_total"] = files.line_value("/proc/meminfo", "SwapTotal", ':');
  words["page_size_bytes"] = std::to_string(sysconf(_SC_PAGESIZE));
  words["transparent_huge_pages"] =
      chosen_word(files.first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  words["huge_pages_reserved"] = files.line_value("/proc/meminfo", "HugePages_Total", ':');
  words["huge_page_size"] = files.line_value("/proc/meminfo", "Hugepagesize", ':');
  words["address_randomization"] = files.first_line("/proc/sys/kernel/randomize_va_space");
  words["load_average"] = load_average();
}

void describe_build(Words& words) {
  words["compiler"] = build_info::compiler;
  words["compiler_flags"] = build_info::flags;
  words["build_type"] = build_info::build_type;
  words["sanitizer"] = build_info::sanitizer[0] != '\0' ? build_info::sanitizer : "none";
  words["git_revision"] = build_info::git_revision;
  words["c_library"] = fmt::format("glibc {}", gnu_get_libc_version());
  words["library_boost"] = build_info::boost;
  words["library_eigen"] = build_info::eigen;
  words["library_google_benchmark"] = build_info::google_benchmark;
  words["library_fmt"] = build_info::fmt;
  words["library_tomlplusplus"] = build_info::tomlplusplus;
  words["library_nlohmann_json"] = build_info::nlohmann_json;
  words["library_cli11"] = build_info::cli11;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) out.push_back(cpu);
  return out;
}

std::map<std::string, std::string> describe_environment(const SystemFiles& files) {
  Words words = {{"kernel", ""}, {"machine", ""}};
  describe_processor(files, words);
  describe_system(files, words);
  describe_build(words);
  for (auto& [key, value] : words)
    if (value.empty()) value = not_readable;
  return words;
}

}  // namespace ropewalk::bench
