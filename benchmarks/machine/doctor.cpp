#include "benchmarks/machine/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/system/memory_limits.h"
#include "benchmarks/build_info.h"

namespace ropewalk::bench {
namespace {

/// The result of one check. The rest of a finding does not depend on the result.
struct Answer {
  Health health = Health::unknown;
  std::string value;
};
Answer answer(bool good, std::string value) {
  return {good ? Health::good : Health::worse, std::move(value)};
}

Answer build(const Machine& m) {
  const bool plain = m.sanitizer.empty();
  return answer(plain && m.build_type == "Release",
                plain ? m.build_type : m.build_type + " with -fsanitize=" + m.sanitizer);
}

Answer core(const Machine& m) {
  return answer(m.core.spread < 0.1,
                fmt::format("{:.0f} ns for independent work, a tenth of it {:.0f} % above the best",
                            m.core.ns_a_step, 100 * m.core.spread));
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
  return word.empty() ? Answer{} : answer(word == "always", word);
}

struct Check {
  const char *name, *why, *remedy;
  Answer (*ask)(const Machine&);
};
constexpr Check checks[] = {
    {"build",
     "a build with checks is several times slower, and not by the same factor for all kernels",
     "build with the preset release", build},
    {"core",
     "independent work fills the units of a core, so a neighbour on it, which may be another "
     "virtual machine, makes it slower",
     "use a machine whose cores are yours alone, or more time: a row tells the state in each round",
     core},
    {"load", "other programs take time, cache and memory bandwidth",
     "stop other work; uptime shows when the machine is quiet", load},
    {"steal", "the hypervisor gave this processor to another guest",
     "use a machine of your own, or more rounds: the stolen time of each round is recorded", steal},
    {"memory", "a workload that does not fit is skipped",
     "free memory, or leave out the largest workload with --workload", memory},
    {"huge_pages", "small pages cost up to 12 % of the bandwidth beyond the caches",
     "write 'always' to transparent_hugepage/enabled; compare only runs with the same setting",
     huge_pages},
};

}  // namespace

Machine probe_machine(std::int64_t largest_workload_bytes) {
  Machine m;
  m.cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
  getloadavg(&m.load_average, 1);
  m.core = core_probe();
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
