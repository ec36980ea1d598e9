// Kernels with correct outputs that break another clause of the contract: they leave something
// changed in the process, another kernel or the heap, or do what apply must not do. Every property
// must find them.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <locale>
#include <string>
#include <utility>

#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// One pairing is enough to find them.
std::int32_t supports_half_split(const rope_problem* p, const char** reason) {
  return p->pairing == ROPE_HALF_SPLIT ? mutants::supports_table(p, reason)
                                       : refuse(reason, "half_split only");
}
template <class Change>
RegisteredKernel half_split(const char* name, Change change) {
  return altered(name, [&](KernelInfo& info) {
    info.supports = supports_half_split;
    change(info);
  });
}

// A kernel that also calls `misdeed` in apply.
template <class Misdeed>
RegisteredKernel in_apply(const char* name, Misdeed) {
  return half_split(name, [](KernelInfo& info) {
    info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
      Misdeed{}();
      return apply<Correct>(p, o, state);
    };
  });
}

// A kernel that also calls `misdeed` in prepare.
template <class Misdeed>
RegisteredKernel in_prepare(const char* name, Misdeed) {
  return half_split(name, [](KernelInfo& info) {
    info.prepare = [](const rope_problem*, void**) -> std::int32_t {
      Misdeed{}();
      return ROPE_OK;
    };
  });
}

// ---- what apply must not do

const auto allocates = in_apply("mutant_allocates_table", [] { allocate(); });

// Where a breach cannot happen, `allocate` takes its place. A sanitizer maps memory and runs
// threads of its own, so the worker does not look for either then, and owns malloc.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*)());  // NOLINT: its own name
bool under_sanitizer() {
  return __sanitizer_set_death_callback != nullptr;
}

// Maps memory without the allocator.
const auto maps_memory = in_apply("mutant_maps_memory_table", [] {
  if (under_sanitizer()) return allocate();
  (void)mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
});

const auto joins_thread = in_apply("mutant_joins_thread_table", [] {
  if (under_sanitizer()) return allocate();
  pthread_t thread;
  const auto nothing = [](void*) -> void* { return nullptr; };
  if (pthread_create(&thread, nullptr, nothing, nullptr) == 0) pthread_join(thread, nullptr);
});

const auto waits_for_child = in_apply("mutant_waits_for_child_table", [] {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
});

const auto prints = in_apply("mutant_prints_table", [] { std::printf("rotated\n"); });

// ---- what an entry must not leave behind

void* wait_for_ever(void*) {
  for (;;) pause();
}
const auto leaves_thread = in_prepare("mutant_leaves_thread_table", [] {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, wait_for_ever, nullptr) == 0) pthread_detach(thread);
});

const auto leaves_child = in_apply("mutant_leaves_child_table", [] {
  if (fork() == 0) wait_for_ever(nullptr);
});

// The child returns from apply like its parent, and would answer in its place.
const auto child_goes_on = in_apply("mutant_child_goes_on_table", [] { (void)!fork(); });

// Starts a process that is no child of this one: it has the same parent.
const auto beside = in_apply("mutant_runs_process_beside_table", [] {
  if (access("/proc/self/task", R_OK) != 0) return allocate();
  if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) _exit(0);
});

const auto leaves_handler =
    in_apply("mutant_leaves_handler_table", [] { std::signal(SIGUSR1, SIG_IGN); });

// Late, after the calls that are each followed by a full comparison.
const auto leaves_handler_late = in_apply("mutant_leaves_handler_late_table", [] {
  static int calls = 0;
  if (++calls == 31) std::signal(SIGUSR1, SIG_IGN);
});

const auto blocks_signal = in_apply("mutant_blocks_signal_table", [] {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
});

const auto leaves_alarm = in_apply("mutant_leaves_alarm_table", [] { alarm(1000); });

const auto leaves_timer = in_apply("mutant_leaves_timer_table", [] {
  timer_t timer{};
  sigevent event{};
  event.sigev_notify = SIGEV_NONE;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
});

const auto leaves_descriptor =
    in_apply("mutant_leaves_descriptor_table", [] { (void)!open("/dev/null", O_RDONLY); });

// Takes a high descriptor, which a count from below does not reach.
const auto leaves_high_descriptor = in_apply("mutant_leaves_high_descriptor_table",
                                             [] { (void)!fcntl(STDIN_FILENO, F_DUPFD, 300); });

// Closes the shared memory.
const auto closes_memory = in_apply("mutant_closes_memory_table", [] { close(4); });

const auto silences_stdout = in_apply("mutant_silences_stdout_table", [] {
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
});

const auto leaves_locale =
    in_prepare("mutant_leaves_locale_table", [] { std::setlocale(LC_ALL, "C.UTF-8"); });

// Writes numbers in groups of three from now on, in every new stream.
struct Grouped : std::numpunct<char> {
  std::string do_grouping() const override { return "\3"; }
};
const auto cpp_locale = in_apply("mutant_leaves_cpp_locale_table", [] {
  std::locale::global(std::locale(std::locale::classic(), new Grouped));
});

const auto changes_directory =
    in_prepare("mutant_changes_directory_table", [] { (void)!chdir("/dev"); });

const auto changes_umask = in_prepare("mutant_changes_umask_table", [] { umask(0135); });

const auto sets_variable =
    in_prepare("mutant_sets_variable_table", [] { setenv("OMP_NUM_THREADS", "77", 1); });

// These two change a trait once: at its last value, or on one processor, a second change would have
// no effect.
const auto nice_value = in_apply("mutant_lowers_priority_table", [] {
  static bool done = false;
  if (std::exchange(done, true)) return;
  const int before = getpriority(PRIO_PROCESS, 0);
  setpriority(PRIO_PROCESS, 0, before + 1);
  if (getpriority(PRIO_PROCESS, 0) == before) allocate();
});

const auto affinity = in_apply("mutant_pins_thread_table", [] {
  static bool done = false;
  if (std::exchange(done, true)) return;
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  if (CPU_COUNT(&set) < 2) return allocate();
  std::size_t first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  CPU_ZERO(&set);
  CPU_SET(first, &set);
  sched_setaffinity(0, sizeof set, &set);
});

const auto changes_other = in_apply("mutant_changes_other_table", [] {
  const_cast<rope_kernel*>(registered_kernels().front())->summary = "not what it was";
});

// ---- registers

#if defined(__x86_64__)
extern "C" [[gnu::visibility("hidden"), gnu::used]] std::int32_t ropewalk_mutant_apply(
    const rope_problem* p, const rope_operands* o, void* state) {
  return apply<Correct>(p, o, state);
}
extern "C" [[gnu::visibility("hidden")]] std::int32_t ropewalk_mutant_takes_r12(
    const rope_problem*, const rope_operands*, void*);
extern "C" [[gnu::visibility("hidden")]] std::int32_t ropewalk_mutant_counts_down(
    const rope_problem*, const rope_operands*, void*);
// Hand-written assembly that forgets to save a register, and one that forgets to clear a flag.
asm(R"(
    .text
    .hidden ropewalk_mutant_takes_r12
    .globl ropewalk_mutant_takes_r12
ropewalk_mutant_takes_r12:
    subq $8, %rsp
    call ropewalk_mutant_apply
    movq %rsp, %r12
    addq $8, %rsp
    ret
    .hidden ropewalk_mutant_counts_down
    .globl ropewalk_mutant_counts_down
ropewalk_mutant_counts_down:
    subq $8, %rsp
    call ropewalk_mutant_apply
    std
    addq $8, %rsp
    ret
)");
const auto takes_r12 = half_split("mutant_takes_r12_table",
                                  [](KernelInfo& info) { info.apply = ropewalk_mutant_takes_r12; });
const auto counts_down = half_split(
    "mutant_counts_down_table", [](KernelInfo& info) { info.apply = ropewalk_mutant_counts_down; });
#endif

// ---- changes of the arguments

template <class Misdeed>
RegisteredKernel writes_into(const char* name, Misdeed) {
  return half_split(name, [](KernelInfo& info) {
    info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
      const std::int32_t answer = apply<Correct>(p, o, state);
      Misdeed{}(*const_cast<rope_problem*>(p), *const_cast<rope_operands*>(o));
      return answer;
    };
  });
}
const auto writes_problem =
    writes_into("mutant_writes_into_problem_table", [](auto& p, auto&) { p.reserved = 1; });
const auto writes_operands = writes_into("mutant_writes_into_operands_table",
                                         [](auto&, auto& o) { o.tensor[0].out = nullptr; });

const auto when_asked = altered("mutant_marks_problem_when_asked_table", [](KernelInfo& info) {
  info.supports = [](const rope_problem* p, const char** reason) {
    const std::int32_t answer = mutants::supports_table(p, reason);
    const_cast<rope_problem*>(p)->reserved = 1;
    return answer;
  };
});

// Writes long after prepare, to an address that it kept.
const auto in_release = altered("mutant_marks_problem_in_release_table", [](KernelInfo& info) {
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = const_cast<rope_problem*>(p);
    return ROPE_OK;
  };
  info.release = [](void* state) { static_cast<rope_problem*>(state)->reserved = 1; };
});

// ---- answers that change

const auto changes_its_mind = half_split("mutant_changes_its_mind_table", [](KernelInfo& info) {
  info.supports = [](const rope_problem* p, const char** reason) {
    static int calls = 0;
    return ++calls % 4 == 0 ? refuse(reason, "enough for today") : supports_half_split(p, reason);
  };
});

const auto two_reasons = half_split("mutant_two_reasons_table", [](KernelInfo& info) {
  info.supports = [](const rope_problem* p, const char** reason) {
    static int calls = 0;
    if (p->pairing == ROPE_HALF_SPLIT) return supports_half_split(p, reason);
    return refuse(reason, ++calls % 2 == 0 ? "no" : "not this one");
  };
});

const auto needs_reason = half_split("mutant_needs_reason_table", [](KernelInfo& info) {
  info.supports = [](const rope_problem* p, const char** reason) {
    *reason = "";
    return supports_half_split(p, reason);
  };
});

const auto workspace_grows = half_split("mutant_workspace_grows_table", [](KernelInfo& info) {
  info.workspace_bytes = [](const rope_problem*) -> std::size_t {
    static std::size_t calls = 0;
    return 64 + ++calls / 3;
  };
});

// Cleans up and leaves rounding upwards set.
const auto leaves_rounding =
    half_split("mutant_release_leaves_rounding_table", [](KernelInfo& info) {
      info.prepare = [](const rope_problem*, void**) -> std::int32_t { return ROPE_OK; };
      info.release = [](void*) { std::fesetround(FE_UPWARD); };
    });

// ---- outside its own allocations: the worker must find them (harness/watch/heap_guard.h)

// Hides the memory's origin from the compiler.
volatile float* hidden(void* memory) {
  void* volatile seen = memory;
  return static_cast<volatile float*>(seen);
}

template <bool is_freed, class Misdeed>
RegisteredKernel with_scratch(const char* name, Misdeed) {
  return altered(name, [](KernelInfo& info) {
    info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
      void* const memory = std::malloc(static_cast<std::size_t>(p->rotary_dim / 2) * sizeof(float));
      *state = const_cast<float*>(hidden(memory));
      if (is_freed) std::free(memory);
      return ROPE_OK;
    };
    info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
      under_sanitizer() ? allocate() : Misdeed{}(hidden(state));
      return apply<Correct>(p, o, nullptr);
    };
    if (!is_freed) info.release = [](void* state) { std::free(state); };
  });
}

// Frees its scratch right after prepare, then uses it.
const auto writes_freed = with_scratch<true>("mutant_writes_freed_state_table",
                                             [](volatile float* scratch) { *scratch = 1; });

// Reads a whole row of 64 values from scratch with one value for each pair.
const auto reads_past =
    with_scratch<false>("mutant_reads_past_state_table", [](volatile float* scratch) {
      volatile float sum = 0;
      for (int i = 0; i < 64; ++i) sum = sum + scratch[i];
    });

}  // namespace
}  // namespace ropewalk::mutants
