#include "harness/watch/process_traits.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <string_view>

namespace ropewalk::harness {

std::array<std::int64_t, trait_names.size()> process_traits(pid_t process) {
  sched_param parameters{};
  sched_getparam(process, &parameters);
  std::array<unsigned long, 1024> mask{};  // 65,536 processors
  const long bytes = syscall(SYS_sched_getaffinity, process, sizeof mask, mask.data());
  const std::string_view affinity(reinterpret_cast<const char*>(mask.data()),
                                  bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return {getpriority(PRIO_PROCESS, static_cast<id_t>(process)),
          sched_getscheduler(process) * 1000 + parameters.sched_priority,
          static_cast<std::int64_t>(std::hash<std::string_view>()(affinity))};
}

}  // namespace ropewalk::harness
