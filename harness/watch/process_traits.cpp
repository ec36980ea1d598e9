#include "harness/watch/process_traits.h"

#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <functional>
#include <iterator>
#include <new>
#include <string_view>

namespace ropewalk::harness {
namespace {

std::int64_t sum_of(const void* data, std::size_t bytes) {
  return static_cast<std::int64_t>(
      std::hash<std::string_view>()({static_cast<const char*>(data), bytes}));
}

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
  return bytes > 0 ? sum_of(mask.data(), static_cast<std::size_t>(bytes)) : -1;
}
std::int64_t io_priority(pid_t process) {
  constexpr int of_a_process = 1;
  return syscall(SYS_ioprio_get, of_a_process, process);
}

std::int64_t alternate_stack(pid_t) {
  stack_t now{};
  sigaltstack(nullptr, &now);
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(now.ss_sp)) ^
         static_cast<std::int64_t>(now.ss_size << 48) ^ now.ss_flags;
}
std::int64_t users(pid_t) {
  const uid_t ids[] = {getuid(), geteuid(), getgid(), getegid()};
  return sum_of(ids, sizeof ids);
}
std::int64_t personality_flags(pid_t) {
  return personality(0xffffffff);  // only asks
}
template <int option>
std::int64_t answer_of_prctl(pid_t) {
  return prctl(option, 0, 0, 0, 0);
}
// For options of prctl that answer through a pointer.
template <int option>
std::int64_t told_by_prctl(pid_t) {
  std::int64_t told[2] = {};  // a thread's name has 16 bytes
  prctl(option, told, 0, 0, 0);
  return sum_of(told, sizeof told);
}
std::int64_t store_bypass(pid_t) {
  return prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
}
std::int64_t new_handler(pid_t) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(std::get_new_handler()));
}
std::int64_t terminate_handler(pid_t) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(std::get_terminate()));
}

struct Trait {
  const char* name;
  std::int64_t (*value)(pid_t);
  /// Other processes change it too (renice, taskset, a cpuset), and then they change it for the
  /// parent as well.
  bool from_outside = false;
};

constexpr Trait traits[] = {
    {"nice value", nice_value, true},
    {"scheduling policy", policy, true},
    {"CPU affinity", affinity, true},
    {"I/O priority", io_priority, true},
    {"alternate signal stack", alternate_stack},
    {"user or group", users},
    {"personality", personality_flags},
    {"signal of the parent's death (PR_SET_PDEATHSIG)", told_by_prctl<PR_GET_PDEATHSIG>},
    {"timer slack", answer_of_prctl<PR_GET_TIMERSLACK>},
    {"dumpable flag", answer_of_prctl<PR_GET_DUMPABLE>},
    {"no_new_privs flag", answer_of_prctl<PR_GET_NO_NEW_PRIVS>},
    {"seccomp mode", answer_of_prctl<PR_GET_SECCOMP>},
    {"use of huge pages (PR_SET_THP_DISABLE)", answer_of_prctl<PR_GET_THP_DISABLE>},
    {"subreaper flag", told_by_prctl<PR_GET_CHILD_SUBREAPER>},
    {"keepcaps flag", answer_of_prctl<PR_GET_KEEPCAPS>},
    {"securebits", answer_of_prctl<PR_GET_SECUREBITS>},
    {"reading of the time stamp (PR_SET_TSC)", told_by_prctl<PR_GET_TSC>},
    {"speculation control", store_bypass},
    {"name of the thread", told_by_prctl<PR_GET_NAME>},
    {"std::new_handler", new_handler},
    {"std::terminate_handler", terminate_handler},
};

}  // namespace

ProcessTraits::ProcessTraits() {
  for (const Trait& trait : traits) noted_.push_back(trait.value(0));
  status_ = status_lines();
}

std::string ProcessTraits::status_lines() const {
  char text[8192];
  const std::string_view all = file_.text(text);
  std::string out;
  for (const std::string_view line : {"\nVmLck:", "\nVmPin:", "\nGroups:", "\nCapEff:"}) {
    const std::size_t at = all.find(line);
    if (at != std::string_view::npos) out += all.substr(at + 1, all.find('\n', at + 1) - at - 1);
  }
  return out;
}

std::vector<std::string> ProcessTraits::changes(bool whole) const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::size(traits); ++i) {
    const std::int64_t now = traits[i].value(0);
    if (now == noted_[i]) continue;
    if (traits[i].from_outside && traits[i].value(getppid()) == now) continue;
    out.push_back(std::string("left the ") + traits[i].name + " changed");
  }
  // The first comparisons name the entry. Later ones are rare.
  constexpr int always = 40, seldom = 16;
  if (looks_++ < always || looks_ % seldom == 0 || whole)
    if (status_lines() != status_)
      out.emplace_back("left memory locked (mlock), or its groups or capabilities changed");
  return out;
}

}  // namespace ropewalk::harness
