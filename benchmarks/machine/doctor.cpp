#include "benchmarks/machine/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/system/memory_limits.h"
#include "benchmarks/build_info.h"
#include "benchmarks/machine/environment.h"

namespace ropewalk::bench {
namespace {

constexpr const char* cpus = "/sys/devices/system/cpu/";

/// The result of one check. The rest of a finding does not depend on the result.
struct Answer {
  Health health = Health::unknown;
  std::string value;
};
Answer answer(bool good, std::string value) {
  return {good ? Health::good : Health::worse, std::move(value)};
}
/// The answer for a value that was read; unknown if it is empty.
Answer answer_if_any(bool good, const std::string& value) {
  return value.empty() ? Answer{} : answer(good, value);
}

Answer governor(const Machine& m) {
  const std::string word = m.files.first_line(std::string(cpus) + "cpu0/cpufreq/scaling_governor");
  return answer_if_any(word == "performance", word);
}

Answer turbo(const Machine& m) {
  const std::string state = turbo_state(m.files);
  return answer_if_any(state == "off", state);
}

Answer frequency(const Machine& m) {
  return answer(m.spin.spread < 0.03, fmt::format("{:.3f} ns a step, spread {:.1f} %",
                                                  m.spin.ns_a_step, m.spin.spread * 100));
}

Answer core(const Machine& m) {
  return answer(m.core.spread < 0.1,
                fmt::format("{:.0f} ns for independent work, a tenth of it {:.0f} % above the best",
                            m.core.ns_a_step, 100 * m.core.spread));
}

Answer throttling(const Machine& m) {
  const std::int64_t count =
      m.files.number(std::string(cpus) + "cpu0/thermal_throttle/core_throttle_count");
  return count < 0 ? Answer{} : answer(count == 0, fmt::format("{} times since boot", count));
}

/// The numbers of a list such as "0-2,5".
std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> out;
  for (std::string_view rest = list; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size()), dash = rest.find('-');
    const std::int64_t from = leading_number(rest);
    const std::int64_t to = dash < comma ? leading_number(rest.substr(dash + 1)) : from;
    for (std::int64_t n = from; n >= 0 && n <= std::min<std::int64_t>(to, 4096); ++n)
      out.push_back(static_cast<int>(n));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return out;
}

Answer siblings(const Machine& m) {
  if (m.allowed_cpus.empty()) return {};
  double busiest = 0;
  int which = -1, of = -1;
  for (const int cpu : m.allowed_cpus) {
    const std::string list =
        m.files.first_line(fmt::format("{}cpu{}/topology/thread_siblings_list", cpus, cpu));
    if (list.empty()) return {};
    for (const int other : numbers_of(list)) {
      const auto busy = m.cpu_busy.find(other);
      if (other == cpu || (which >= 0 && (busy == m.cpu_busy.end() || busy->second <= busiest)))
        continue;
      which = other, of = cpu, busiest = busy == m.cpu_busy.end() ? 0 : busy->second;
    }
  }
  if (which < 0) return answer(true, "no processor here shares its core");
  return answer(busiest < 0.05,
                fmt::format("cpu {} shares a core with cpu {}, which is busy {:.0f} %", of, which,
                            busiest * 100));
}

Answer load(const Machine& m) {
  return answer(m.load_average < 0.3,
                fmt::format("{:.2f} on {} processors", m.load_average, m.cpu_count));
}

Answer steal(const Machine& m) {
  const auto share = stolen_share(m.files);
  return share ? answer(*share < 0.001, fmt::format("{:.3f} % since boot", *share * 100))
               : Answer{};
}

Answer affinity(const Machine& m) {
  if (m.allowed_cpus.empty()) return {};
  return answer(m.allowed_cpus.size() == 1,
                m.allowed_cpus.size() == 1
                    ? fmt::format("pinned to cpu {}", m.allowed_cpus[0])
                    : fmt::format("may move between {} processors", m.allowed_cpus.size()));
}

Answer quota(const Machine& m) {
  const std::string group = "/sys/fs/cgroup/", max = m.files.first_line(group + "cpu.max");
  if (max.empty()) return {};
  const std::string throttled = m.files.line_value(group + "cpu.stat", "nr_throttled", ' ');
  return answer(max.starts_with("max"), max.starts_with("max")
                                            ? "none"
                                            : fmt::format("{} us, throttled {} times", max,
                                                          throttled.empty() ? "?" : throttled));
}

std::int64_t meminfo_kib(const Machine& m, std::string_view key) {
  return leading_number(m.files.line_value("/proc/meminfo", key, ':'));
}

Answer swap(const Machine& m) {
  const std::int64_t total = meminfo_kib(m, "SwapTotal"), free = meminfo_kib(m, "SwapFree");
  if (total < 0 || free < 0) return {};
  return answer(free >= total, fmt::format("{} of {} MiB in use",
                                           (total - std::min(free, total)) >> 10, total >> 10));
}

Answer memory(const Machine& m) {
  const std::int64_t available = memory_left(m.files).bytes;
  if (available == unlimited_memory) return {};
  return answer(available / 10 * 9 >= m.largest_workload_bytes,
                fmt::format("{} MiB available, {} MiB for the largest workload", available >> 20,
                            m.largest_workload_bytes >> 20));
}

Answer huge_pages(const Machine& m) {
  const std::string word =
      chosen_word(m.files.first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  return answer_if_any(word == "always", word);
}

Answer hypervisor(const Machine& m) {
  const std::string seen = virtualization(m.files);
  return answer_if_any(seen == "none seen", seen);
}

Answer numa(const Machine& m) {
  const std::string nodes = m.files.first_line("/sys/devices/system/node/online");
  return answer_if_any(numbers_of(nodes).size() <= 1, nodes);
}

Answer clocksource(const Machine& m) {
  const std::string source =
      m.files.first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return answer_if_any(source == "tsc", source);
}

Answer timer(const Machine& m) {
  return answer(m.timer.overhead_ns < 100, fmt::format("{:.0f} ns a reading, resolves {:.0f} ns",
                                                       m.timer.overhead_ns, m.timer.resolution_ns));
}

Answer build(const Machine& m) {
  const bool plain = m.sanitizer.empty();
  return answer(plain && m.build_type == "Release",
                plain ? m.build_type : m.build_type + " with -fsanitize=" + m.sanitizer);
}

struct Check {
  const char *name, *why, *remedy;
  Answer (*ask)(const Machine&);
};
constexpr Check checks[] = {
    {"build",
     "a build with checks is several times slower, and not by the same factor for all kernels",
     "build with the preset release", build},
    {"governor", "a governor that follows the load changes the clock rate during a measurement",
     "cpupower frequency-set -g performance (as root)", governor},
    {"turbo", "the clock rate depends on heat and on the load of the other cores",
     "switch it off in intel_pstate/no_turbo or cpufreq/boost, or trust only ratios within a run",
     turbo},
    {"frequency",
     "a chain of multiplications takes the same time at the same clock rate, so its spread "
     "is what the clock or a neighbour adds",
     "wait until the machine is quiet; repeat with more rounds", frequency},
    {"core",
     "independent work fills the units of a core, so a neighbour on it, which may be another "
     "virtual "
     "machine, makes it slower",
     "use a machine whose cores are yours alone, or more time: a row tells the state in each round",
     core},
    {"throttling", "a core that was too hot ran slower for a while",
     "cool the machine, or measure less at once", throttling},
    {"sibling", "two threads of one core share its units and its L1 cache",
     "leave the sibling idle: taskset other work away, or switch SMT off", siblings},
    {"load", "other programs take time, cache and memory bandwidth",
     "stop other work; uptime shows when the machine is quiet", load},
    {"steal", "the hypervisor gave this processor to another guest",
     "use a machine of your own, or more rounds: the stolen time of each round is recorded", steal},
    {"affinity", "a process that moves to another core leaves its caches behind",
     "pin it: taskset -c N ropewalk ... (a core that has no interrupts)", affinity},
    {"quota", "a quota that is used up stops the process for the rest of the period",
     "run outside the control group, or raise cpu.max", quota},
    {"memory", "a workload that does not fit is skipped",
     "free memory, or leave out the largest workload with --workload", memory},
    {"swap", "pages that were swapped out are read from disk in the middle of a round",
     "swapoff -a (as root), or stop what fills the memory", swap},
    {"huge_pages", "small pages cost up to 12 % of the bandwidth beyond the caches",
     "write 'always' to transparent_hugepage/enabled; compare only runs with the same setting",
     huge_pages},
    {"numa", "memory of another node is slower", "numactl --cpunodebind=0 --membind=0 ropewalk ...",
     numa},
    {"virtualization",
     "the host shares caches and memory with guests that cannot be seen from here",
     "measure on bare metal before you publish; trust ratios within a run", hypervisor},
    {"clocksource", "a clock that is not the processor's own is slow to read",
     "boot with clocksource=tsc if the machine allows it", clocksource},
    {"timer", "the time to read the clock is added to each epoch",
     "use the clocksource tsc; longer epochs hide the rest", timer},
};

// ---- probing

std::map<int, CpuTicks> ticks_of_all(const SystemFiles& files) {
  std::map<int, CpuTicks> out;
  constexpr int most = 4096;
  for (int cpu = 0; cpu < std::min<long>(sysconf(_SC_NPROCESSORS_CONF), most); ++cpu)
    if (const auto ticks = cpu_ticks(files, "cpu" + std::to_string(cpu))) out[cpu] = *ticks;
  return out;
}

/// The share of each processor that other processes use while this process sleeps.
std::map<int, double> busy_shares(const SystemFiles& files) {
  const auto before = ticks_of_all(files);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::map<int, double> out;
  for (const auto& [cpu, after] : ticks_of_all(files)) {
    const auto first = before.find(cpu);
    if (first == before.end()) continue;
    const auto busy = static_cast<double>(after.busy - first->second.busy),
               idle = static_cast<double>(after.idle - first->second.idle);
    out[cpu] = busy + idle > 0 ? busy / (busy + idle) : 0;
  }
  return out;
}

}  // namespace

Machine probe_machine(std::int64_t largest_workload_bytes) {
  Machine m;
  m.allowed_cpus = allowed_cpus();
  m.cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
  getloadavg(&m.load_average, 1);
  m.cpu_busy = busy_shares(m.files);
  m.spin = spin_probe();
  m.core = core_probe();
  m.timer = timer_probe();
  m.largest_workload_bytes = largest_workload_bytes;
  m.build_type = build_info::build_type;
  m.sanitizer = build_info::sanitizer;
  return m;
}

std::vector<DoctorFinding> examine(const Machine& machine) {
  std::vector<DoctorFinding> findings;
  for (const Check& check : checks) {
    const Answer found = check.ask(machine);
    DoctorFinding f{check.name, found.health, found.value, check.why, ""};
    if (f.health == Health::unknown) f.value = "not readable";
    if (f.health != Health::good) f.remedy = check.remedy;
    findings.push_back(std::move(f));
  }
  return findings;
}

std::string_view word_of(Health health) {
  return health == Health::good ? "good" : health == Health::worse ? "worse" : "not readable";
}

}  // namespace ropewalk::bench
