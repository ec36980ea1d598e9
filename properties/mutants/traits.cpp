// Kernels with correct outputs that change a trait of the process, such as its scheduling, or
// another kernel. Every property must find them.
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <locale>
#include <string>
#include <utility>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A substitute breach, for machines on which the trait cannot change.
void allocate() {
  void* volatile memory = std::malloc(100);
  std::free(memory);
}

template <void (*misdeed)()>
RegisteredKernel in_apply(const char* name) {
  KernelInfo info = table_info<Correct>(name);
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    misdeed();
    return apply<Correct>(p, o, state);
  };
  return RegisteredKernel(info);
}

// True once: at the last value, or on one processor, a second change would have no effect.
bool is_first(bool& done) {
  return !std::exchange(done, true);
}

void be_nice() {
  static bool done = false;
  if (!is_first(done)) return;
  const int before = getpriority(PRIO_PROCESS, 0);
  setpriority(PRIO_PROCESS, 0, before + 1);
  if (getpriority(PRIO_PROCESS, 0) == before) allocate();
}
const RegisteredKernel nice_value = in_apply<be_nice>("mutant_lowers_priority_table");

void pin_to_one() {
  static bool done = false;
  if (!is_first(done)) return;
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  if (CPU_COUNT(&set) < 2) return allocate();
  std::size_t first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  CPU_ZERO(&set);
  CPU_SET(first, &set);
  sched_setaffinity(0, sizeof set, &set);
}
const RegisteredKernel affinity = in_apply<pin_to_one>("mutant_pins_thread_table");

// Starts a process that is no child of this one: it has the same parent.
void run_beside() {
  if (access("/proc/self/task", R_OK) != 0) return allocate();
  if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) _exit(0);
}
const RegisteredKernel beside = in_apply<run_beside>("mutant_runs_process_beside_table");

// Writes numbers in groups of three from now on, in every new stream.
struct Grouped : std::numpunct<char> {
  std::string do_grouping() const override { return "\3"; }
};
void group_digits() {
  std::locale::global(std::locale(std::locale::classic(), new Grouped));
}
const RegisteredKernel cpp_locale = in_apply<group_digits>("mutant_leaves_cpp_locale_table");

void rename_another() {
  auto* other = const_cast<rope_kernel*>(registered_kernels().front());
  other->summary = "not what it was";
}
const RegisteredKernel changes_table = in_apply<rename_another>("mutant_changes_other_table");

// ---- writing into the problem that an entry is shown

void mark(const rope_problem* p) {
  const_cast<rope_problem*>(p)->reserved = 1;
}

KernelInfo marks_when_asked() {
  KernelInfo info = table_info<Correct>("mutant_marks_problem_when_asked_table");
  info.supports = [](const rope_problem* p, const char** reason) {
    const std::int32_t answer = supports_table(p, reason);
    mark(p);
    return answer;
  };
  return info;
}
const RegisteredKernel when_asked{marks_when_asked()};

// Writes long after prepare, to an address that it kept.
KernelInfo marks_in_release() {
  KernelInfo info = table_info<Correct>("mutant_marks_problem_in_release_table");
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = const_cast<rope_problem*>(p);
    return ROPE_OK;
  };
  info.release = [](void* state) { mark(static_cast<const rope_problem*>(state)); };
  return info;
}
const RegisteredKernel in_release{marks_in_release()};

}  // namespace
}  // namespace ropewalk::mutants
