#include "benchmarks/machine/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/system/memory_limits.h"
#include "benchmarks/build_info.h"

namespace ropewalk::bench {

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

std::vector<DoctorFinding> examine(const Machine& m) {
  const auto health = [](bool good) { return good ? Health::good : Health::worse; };
  const std::optional<double> stolen = stolen_share(m.files);
  const std::int64_t available = memory_left(m.files).bytes;
  const std::string pages =
      chosen_word(m.files.first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  std::vector<DoctorFinding> findings = {
      {"build", health(m.sanitizer.empty() && m.build_type == "Release"),
       m.build_type + (m.sanitizer.empty() ? "" : " with -fsanitize=" + m.sanitizer),
       "a build with checks is several times slower, and not by the same factor for all kernels",
       "build with the preset release"},
      {"core", health(m.core.spread < 0.1),
       fmt::format("{:.0f} ns for independent work, a tenth of it {:.0f} % above the best",
                   m.core.ns, 100 * m.core.spread),
       "independent work fills the units of a core, so a neighbour on it, which may be another "
       "virtual machine, makes it slower",
       "use a machine whose cores are yours alone, or more time: a row tells the state in each "
       "round"},
      {"load", health(m.load_average < 0.3),
       fmt::format("{:.2f} on {} processors", m.load_average, m.cpu_count),
       "other programs take time, cache and memory bandwidth",
       "stop other work; uptime shows when the machine is quiet"},
      {"steal", stolen ? health(*stolen < 0.001) : Health::unknown,
       fmt::format("{:.3f} % since boot", 100 * stolen.value_or(0)),
       "the hypervisor gave this processor to another guest",
       "use a machine of your own, or more rounds: the stolen time of each round is recorded"},
      {"memory",
       available == unlimited_memory ? Health::unknown
                                     : health(available / 10 * 9 >= m.largest_workload_bytes),
       fmt::format("{} MiB available, {} MiB for the largest workload", available >> 20,
                   m.largest_workload_bytes >> 20),
       "a workload that does not fit is skipped",
       "free memory, or leave out the largest workload with --workload"},
      {"huge_pages", pages.empty() ? Health::unknown : health(pages == "always"), pages,
       "small pages cost up to 12 % of the bandwidth beyond the caches",
       "write 'always' to transparent_hugepage/enabled; compare only runs with the same setting"},
  };
  for (DoctorFinding& f : findings) {
    if (f.health == Health::unknown) f.value = "not readable";
    if (f.health == Health::good) f.remedy.clear();
  }
  return findings;
}

std::string_view word_of(Health health) {
  return health == Health::good ? "good" : health == Health::worse ? "worse" : "not readable";
}

}  // namespace ropewalk::bench
