#include "harness/watch/process_traits.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string_view>

namespace ropewalk::harness {
namespace {

// Process 0 is the process that asks.
std::int64_t nice_value(pid_t process) {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(process));
}
std::int64_t policy(pid_t process) {
  sched_param parameters{};
  sched_getparam(process, &parameters);
  return sched_getscheduler(process) * 1000 + parameters.sched_priority;
}
std::int64_t affinity(pid_t process) {
  std::array<unsigned long, 1024> mask{};  // 65,536 processors
  const long bytes = syscall(SYS_sched_getaffinity, process, sizeof mask, mask.data());
  if (bytes <= 0) return -1;
  return static_cast<std::int64_t>(std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(mask.data()), static_cast<std::size_t>(bytes)}));
}

struct Trait {
  const char* name;
  std::int64_t (*value)(pid_t);
};
constexpr Trait traits[] = {
    {"nice value", nice_value}, {"scheduling policy", policy}, {"CPU affinity", affinity}};

}  // namespace

ProcessTraits::ProcessTraits() {
  for (const Trait& trait : traits) noted_.push_back(trait.value(0));
}

// Other processes change these too (renice, taskset, a cpuset), and then they change them for the
// parent as well.
std::vector<std::string> ProcessTraits::changes() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::size(traits); ++i) {
    const std::int64_t now = traits[i].value(0);
    if (now != noted_[i] && traits[i].value(getppid()) != now)
      out.push_back(std::string("left the ") + traits[i].name + " changed");
  }
  return out;
}

}  // namespace ropewalk::harness
