// Kernels with correct outputs that break another clause of the contract: they leave something
// changed in the process, or do what apply must not do. Every property must find them.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// One pairing is enough to find them.
std::int32_t supports_half_split(const rope_problem* p, const char** reason) {
  return p->pairing == ROPE_HALF_SPLIT ? supports_table(p, reason)
                                       : refuse(reason, "half_split only");
}

KernelInfo half_split(const char* name) {
  KernelInfo info = table_info<Correct>(name);
  info.supports = supports_half_split;
  return info;
}

template <void (*misdeed)()>
std::int32_t apply_and(const rope_problem* p, const rope_operands* o, void* state) {
  misdeed();
  return apply<Correct>(p, o, state);
}

// A kernel that also calls `misdeed` in apply.
template <void (*misdeed)()>
RegisteredKernel in_apply(const char* name) {
  KernelInfo info = half_split(name);
  info.apply = apply_and<misdeed>;
  return RegisteredKernel(info);
}

// A kernel that also calls `misdeed` in prepare.
template <void (*misdeed)()>
RegisteredKernel in_prepare(const char* name) {
  KernelInfo info = half_split(name);
  info.prepare = [](const rope_problem*, void**) -> std::int32_t {
    misdeed();
    return ROPE_OK;
  };
  return RegisteredKernel(info);
}

// ---- what apply must not do

void allocate() {
  void* volatile memory = std::malloc(100);
  std::free(memory);
}
const RegisteredKernel allocates = in_apply<allocate>("mutant_allocates_table");

// A sanitizer maps memory and runs threads of its own, so the worker does not look for either then.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*)());  // NOLINT: its own name
bool under_sanitizer() {
  return __sanitizer_set_death_callback != nullptr;
}

// Maps memory without the allocator.
void map_memory() {
  if (under_sanitizer()) return allocate();
  (void)mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
const RegisteredKernel maps_memory = in_apply<map_memory>("mutant_maps_memory_table");

void* nothing(void*) {
  return nullptr;
}
void* wait_for_ever(void*) {
  for (;;) pause();
}

void join_a_thread() {
  if (under_sanitizer()) return allocate();
  pthread_t thread;
  if (pthread_create(&thread, nullptr, nothing, nullptr) == 0) pthread_join(thread, nullptr);
}
const RegisteredKernel joins_thread = in_apply<join_a_thread>("mutant_joins_thread_table");

void wait_for_a_child() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
}
const RegisteredKernel waits_for_child = in_apply<wait_for_a_child>("mutant_waits_for_child_table");

void print() {
  std::printf("rotated\n");
}
const RegisteredKernel prints = in_apply<print>("mutant_prints_table");

// ---- what an entry must not leave behind

void leave_a_thread() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, wait_for_ever, nullptr) == 0) pthread_detach(thread);
}
const RegisteredKernel leaves_thread = in_prepare<leave_a_thread>("mutant_leaves_thread_table");

void leave_a_child() {
  if (fork() == 0) wait_for_ever(nullptr);
}
const RegisteredKernel leaves_child = in_apply<leave_a_child>("mutant_leaves_child_table");

// The child returns from apply like its parent, and would answer in its place.
void fork_and_go_on() {
  if (fork() < 0) return;
}
const RegisteredKernel child_goes_on = in_apply<fork_and_go_on>("mutant_child_goes_on_table");

void leave_a_handler() {
  std::signal(SIGUSR1, SIG_IGN);
}
const RegisteredKernel leaves_handler = in_apply<leave_a_handler>("mutant_leaves_handler_table");

// Late, after the calls that are each followed by a full comparison.
void leave_a_handler_late() {
  static int calls = 0;
  if (++calls == 31) leave_a_handler();
}
const RegisteredKernel leaves_handler_late =
    in_apply<leave_a_handler_late>("mutant_leaves_handler_late_table");

void block_a_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
}
const RegisteredKernel blocks_signal = in_apply<block_a_signal>("mutant_blocks_signal_table");

void leave_an_alarm() {
  alarm(1000);
}
const RegisteredKernel leaves_alarm = in_apply<leave_an_alarm>("mutant_leaves_alarm_table");

void leave_a_timer() {
  timer_t timer{};
  sigevent event{};
  event.sigev_notify = SIGEV_NONE;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
}
const RegisteredKernel leaves_timer = in_apply<leave_a_timer>("mutant_leaves_timer_table");

void leave_a_descriptor() {
  if (open("/dev/null", O_RDONLY) < 0) return;
}
const RegisteredKernel leaves_descriptor =
    in_apply<leave_a_descriptor>("mutant_leaves_descriptor_table");

// Takes a high descriptor, which a count from below does not reach.
void leave_a_high_descriptor() {
  if (fcntl(STDIN_FILENO, F_DUPFD, 300) < 0) return;
}
const RegisteredKernel leaves_high_descriptor =
    in_apply<leave_a_high_descriptor>("mutant_leaves_high_descriptor_table");

// Closes the shared memory.
void close_the_memory() {
  close(4);
}
const RegisteredKernel closes_memory = in_apply<close_the_memory>("mutant_closes_memory_table");

void silence_stdout() {
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
}
const RegisteredKernel silences_stdout = in_apply<silence_stdout>("mutant_silences_stdout_table");

void leave_a_locale() {
  std::setlocale(LC_ALL, "C.UTF-8");
}
const RegisteredKernel leaves_locale = in_prepare<leave_a_locale>("mutant_leaves_locale_table");

void change_directory() {
  if (chdir("/dev") != 0) return;
}
const RegisteredKernel changes_directory =
    in_prepare<change_directory>("mutant_changes_directory_table");

void change_umask() {
  umask(0135);
}
const RegisteredKernel changes_umask = in_prepare<change_umask>("mutant_changes_umask_table");

void set_a_variable() {
  setenv("OMP_NUM_THREADS", "77", 1);
}
const RegisteredKernel sets_variable = in_prepare<set_a_variable>("mutant_sets_variable_table");

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

RegisteredKernel with(const char* name, decltype(rope_kernel::apply) assembly) {
  KernelInfo info = half_split(name);
  info.apply = assembly;
  return RegisteredKernel(info);
}
const RegisteredKernel takes_r12 = with("mutant_takes_r12_table", ropewalk_mutant_takes_r12);
const RegisteredKernel counts_down = with("mutant_counts_down_table", ropewalk_mutant_counts_down);
#endif

// ---- changes of the arguments

template <void (*misdeed)(rope_problem&, rope_operands&)>
RegisteredKernel writes_into(const char* name) {
  KernelInfo info = half_split(name);
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    const std::int32_t answer = apply<Correct>(p, o, state);
    misdeed(*const_cast<rope_problem*>(p), *const_cast<rope_operands*>(o));
    return answer;
  };
  return RegisteredKernel(info);
}

void mark_as_seen(rope_problem& p, rope_operands&) {
  p.reserved = 1;
}
const RegisteredKernel writes_problem =
    writes_into<mark_as_seen>("mutant_writes_into_problem_table");

void forget_output(rope_problem&, rope_operands& o) {
  o.tensor[0].out = nullptr;
}
const RegisteredKernel writes_operands =
    writes_into<forget_output>("mutant_writes_into_operands_table");

// ---- answers that change

KernelInfo changes_its_mind_info() {
  KernelInfo info = half_split("mutant_changes_its_mind_table");
  info.supports = [](const rope_problem* p, const char** reason) {
    static int calls = 0;
    return ++calls % 4 == 0 ? refuse(reason, "enough for today") : supports_half_split(p, reason);
  };
  return info;
}
const RegisteredKernel changes_its_mind{changes_its_mind_info()};

KernelInfo two_reasons_info() {
  KernelInfo info = half_split("mutant_two_reasons_table");
  info.supports = [](const rope_problem* p, const char** reason) {
    static int calls = 0;
    if (p->pairing == ROPE_HALF_SPLIT) return supports_half_split(p, reason);
    return refuse(reason, ++calls % 2 == 0 ? "no" : "not this one");
  };
  return info;
}
const RegisteredKernel two_reasons{two_reasons_info()};

KernelInfo needs_reason_info() {
  KernelInfo info = half_split("mutant_needs_reason_table");
  info.supports = [](const rope_problem* p, const char** reason) {
    *reason = "";
    return supports_half_split(p, reason);
  };
  return info;
}
const RegisteredKernel needs_reason{needs_reason_info()};

KernelInfo workspace_grows_info() {
  KernelInfo info = half_split("mutant_workspace_grows_table");
  info.workspace_bytes = [](const rope_problem*) -> std::size_t {
    static std::size_t calls = 0;
    return 64 + ++calls / 3;
  };
  return info;
}
const RegisteredKernel workspace_grows{workspace_grows_info()};

// Cleans up and leaves rounding upwards set.
KernelInfo release_leaves_rounding_info() {
  KernelInfo info = half_split("mutant_release_leaves_rounding_table");
  info.prepare = [](const rope_problem*, void**) -> std::int32_t { return ROPE_OK; };
  info.release = [](void*) { std::fesetround(FE_UPWARD); };
  return info;
}
const RegisteredKernel release_leaves_rounding{release_leaves_rounding_info()};

}  // namespace
}  // namespace ropewalk::mutants
