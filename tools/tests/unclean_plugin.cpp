// Kernels for tests of what bench watches, each f32 with tables. They are right, and clean while
// they are verified. The gate verifies shapes of 1,009 tokens with fewer tokens. On these shapes an
// entry leaves something in the process, or apply does what it may not do. `innocent` is
// clean, and `prepare_does_much` does everything that prepare may do.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/api/kernel.h"
#include "tools/tests/right_rotation.h"

namespace ropewalk {
namespace {

bool is_timed(const rope_problem& p) {
  return p.tokens == 1009;
}

void leave_thread() {
  std::thread([] {
    for (;;) pause();
  }).detach();
}
void block_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}
void round_down() {
  std::fesetround(FE_DOWNWARD);
}
void ignore_signal() {
  std::signal(SIGUSR2, SIG_IGN);
}
void allocate() {
  void* volatile memory = std::malloc(999);
  std::free(memory);
}
void throw_something() {
  throw std::runtime_error("something");
}
void do_much() {
  std::thread([] {}).join();
  std::vector<int> some(1 << 20, 1);
  close(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::puts("prepared");
  std::fflush(stdout);
}
void nothing() {}

template <void (*act)()>
std::int32_t prepare(const rope_problem* p, void** state) {
  static char some;
  if (is_timed(*p)) act();
  *state = is_timed(*p) ? &some : nullptr;
  return ROPE_OK;
}
template <void (*act)()>
void release(void* state) {
  if (state != nullptr) act();
}
template <void (*act)()>
std::int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  if (is_timed(*p)) act();
  return right(p, o, state);
}
// Happens once, a few calls later, so that a slow machine makes these calls too.
template <void (*act)()>
std::int32_t late(const rope_problem* p, const rope_operands* o, void* state) {
  static std::int64_t calls = 0;
  if (is_timed(*p) && ++calls == 40) act();
  return right(p, o, state);
}
std::int32_t mark_problem(const rope_problem* p, const rope_operands* o, void* state) {
  const std::int32_t status = right(p, o, state);
  if (is_timed(*p)) const_cast<rope_problem*>(p)->reserved = 1;
  return status;
}
std::int32_t mark_operands(const rope_problem* p, const rope_operands* o, void* state) {
  if (is_timed(*p)) const_cast<rope_operands*>(o)->reserved = 1;
  return right(p, o, state);
}
std::int32_t overrun_output(const rope_problem* p, const rope_operands* o, void* state) {
  const std::int32_t status = right(p, o, state);
  const rope_tensor& last = p->tensor[p->tensor_count - 1];
  float* out = static_cast<float*>(o->tensor[p->tensor_count - 1].out);
  if (is_timed(*p)) std::fill_n(out + p->batch * p->tokens * last.heads * last.head_dim, 16, 1.0f);
  return status;
}
std::int32_t overrun_workspace(const rope_problem* p, const rope_operands* o, void* state) {
  if (is_timed(*p)) std::fill_n(static_cast<float*>(o->workspace), 32, 1.0f);
  return right(p, o, state);
}
std::size_t some_workspace(const rope_problem*) {
  return 64;
}
std::int32_t mark_in_prepare(const rope_problem* p, void**) {
  if (is_timed(*p)) const_cast<rope_problem*>(p)->reserved = 1;
  return ROPE_OK;
}

std::int32_t supports(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}

struct Entries {
  const char* name;
  std::int32_t (*apply)(const rope_problem*, const rope_operands*, void*) = right;
  std::int32_t (*prepare)(const rope_problem*, void**) = ropewalk::prepare<nothing>;
  void (*release)(void*) = ropewalk::release<nothing>;
  std::size_t (*workspace_bytes)(const rope_problem*) = nullptr;
};
constexpr Entries all[] = {
    {.name = "innocent"},
    {.name = "prepare_does_much", .prepare = prepare<do_much>},
    {.name = "prepare_leaves_thread", .prepare = prepare<leave_thread>},
    {.name = "prepare_blocks_signal", .prepare = prepare<block_signal>},
    {.name = "prepare_rounds_down", .prepare = prepare<round_down>},
    {.name = "prepare_marks_problem", .prepare = mark_in_prepare},
    {.name = "release_leaves_thread", .release = release<leave_thread>},
    {.name = "release_rounds_down", .release = release<round_down>},
    {.name = "release_throws", .release = release<throw_something>},
    {.name = "ignores_signal", .apply = late<ignore_signal>},
    {.name = "allocates", .apply = apply<allocate>},
    {.name = "marks_problem", .apply = mark_problem},
    {.name = "marks_operands", .apply = mark_operands},
    {.name = "overruns_output", .apply = overrun_output},
    {.name = "overruns_workspace", .apply = overrun_workspace, .workspace_bytes = some_workspace},
};

struct UncleanKernels {
  std::deque<RegisteredKernel> kernels;
  UncleanKernels() {
    for (const Entries& entries : all) {
      KernelInfo info;
      info.name = entries.name;
      info.supports = supports;
      info.prepare = entries.prepare;
      info.apply = entries.apply;
      info.release = entries.release;
      info.workspace_bytes = entries.workspace_bytes;
      kernels.emplace_back(info);
    }
  }
};
const UncleanKernels registry;

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
