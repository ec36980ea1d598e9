// Kernels for tests of timing, each f32 with tables. same_NN: one function under many names.
// slow_NN: the same function, which does a fortieth of its work again in four calls of five. On
// workloads of 40 heads that is 2 % more. bad_* are right, and clean, while they are verified: the
// gate verifies shapes of 1,009 tokens with fewer tokens. fine_* do what a kernel may do.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/testing/right_rotation.h"
#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

bool is_timed(const rope_problem& p) {
  return p.tokens == 1009;
}

std::int32_t slow(const rope_problem* p, const rope_operands* o, void* state) {
  static std::int64_t calls = 0;
  if (++calls % 5 == 0) return right(p, o, state);
  for_each_token(*p, *o, [&](const Token& token) {
    bool first = true;
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      if (std::exchange(first, false)) rotate_to(*p, head, static_cast<float*>(o->workspace));
      rotate_to(*p, head, head.out);
    });
  });
  return ROPE_OK;
}
std::size_t one_head(const rope_problem* p) {
  return static_cast<std::size_t>(p->rotary_dim) * sizeof(float);
}

// ---- what bad entries do besides their work

void crash() {
  std::raise(SIGSEGV);
}
void print() {
  (void)!write(STDOUT_FILENO, "noise\x1b[2J", 9);
}
void ignore_signal() {
  std::signal(SIGUSR2, SIG_IGN);
}
void allocate() {
  void* volatile memory = std::malloc(999);
  std::free(memory);
}
void hang() {
  for (;;) pause();
}
void leave_thread() {
  std::thread(hang).detach();
}
void round_down() {
  std::fesetround(FE_DOWNWARD);
}
void throw_lines() {
  throw std::runtime_error("first\nsecond\x1b[2J");
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

// ---- applies that are bad while timed

std::int32_t do_less(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem less = *p;
  if (is_timed(*p)) less.tokens /= 2;
  return right(&less, o, state);
}
// Answers with the outputs of its first call.
std::int32_t answer_from_cache(const rope_problem* p, const rope_operands* o, void* state) {
  static std::vector<float> kept;
  const rope_tensor& q = p->tensor[0];
  float* out = static_cast<float*>(o->tensor[0].out);
  const auto count = p->tokens * q.heads * q.head_dim;
  if (is_timed(*p) && !kept.empty()) return std::copy_n(kept.data(), count, out), ROPE_OK;
  right(p, o, state);
  if (is_timed(*p)) kept.assign(out, out + count);
  return ROPE_OK;
}
std::int32_t turn_back(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem back = *p;
  if (is_timed(*p)) back.operation = ROPE_TRANSPOSE - p->operation;
  return right(&back, o, state);
}
std::int32_t finish_later(const rope_problem* p, const rope_operands* o, void* state) {
  if (!is_timed(*p)) return right(p, o, state);
  std::thread([problem = *p, operands = *o] { right(&problem, &operands, nullptr); }).detach();
  return ROPE_OK;
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
  if (is_timed(*p)) std::fill_n(static_cast<float*>(o->workspace), p->rotary_dim + 16, 1.0f);
  return right(p, o, state);
}

// ---- what is supported

std::int32_t supports(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}
// What few and small cases judge: the heads of one shape, with few tokens or those that are timed.
std::int32_t one_shape(const rope_problem* p, const char** reason) {
  const bool takes = p->pairing == ROPE_HALF_SPLIT && p->tensor_count == 2 && p->rotary_dim == 64 &&
                     p->tensor[0].heads == 4 && p->tensor[1].heads == 2 &&
                     p->tensor[0].head_dim == 64 && p->tensor[1].head_dim == 64 && p->batch == 1 &&
                     (p->tokens <= 32 || p->tokens > 600) && p->position_dtype == ROPE_I32 &&
                     p->attention_scale == 0;
  return takes ? supports(p, reason) : refuse(reason, "only one shape");
}
std::int32_t only_300_tokens(const rope_problem* p, const char** reason) {
  return p->tokens == 300 ? supports(p, reason) : ROPE_UNSUPPORTED;
}
std::int32_t tokens_by_sixteen(const rope_problem* p, const char** reason) {
  return p->tokens % 16 == 0 ? supports(p, reason) : ROPE_UNSUPPORTED;
}
std::int32_t dies_when_asked(const rope_problem* p, const char** reason) {
  if (is_timed(*p)) std::abort();
  return one_shape(p, reason);
}

struct Entries {
  const char* name;
  std::int32_t (*apply)(const rope_problem*, const rope_operands*, void*) = right;
  std::int32_t (*prepare)(const rope_problem*, void**) = ropewalk::prepare<nothing>;
  void (*release)(void*) = ropewalk::release<nothing>;
  std::size_t (*workspace_bytes)(const rope_problem*) = nullptr;
  std::int32_t (*supports)(const rope_problem*, const char**) = one_shape;
};
// Those that end their process come first: the group of the others is then timed once.
constexpr Entries all[] = {
    {.name = "fine_in_all"},
    {.name = "fine_in_prepare", .prepare = prepare<do_much>},
    {.name = "only_300_tokens", .supports = only_300_tokens},
    {.name = "tokens_by_sixteen", .supports = tokens_by_sixteen},
    {.name = "hangs", .apply = apply<hang>},
    {.name = "bad_1_asked", .supports = dies_when_asked},
    {.name = "bad_1_crashes", .apply = apply<crash>},
    {.name = "bad_1_prints", .apply = apply<print>},
    {.name = "bad_1_signal", .apply = apply<ignore_signal>},
    {.name = "bad_1_thread", .prepare = prepare<leave_thread>},
    {.name = "bad_2_allocates", .apply = apply<allocate>},
    {.name = "bad_2_later", .apply = finish_later},
    {.name = "bad_3_release", .release = release<round_down>},
    {.name = "bad_4_cache", .apply = answer_from_cache},
    {.name = "bad_4_less", .apply = do_less},
    {.name = "bad_4_operands", .apply = mark_operands},
    {.name = "bad_4_output", .apply = overrun_output},
    {.name = "bad_4_problem", .apply = mark_problem},
    {.name = "bad_4_throws", .apply = apply<throw_lines>},
    {.name = "bad_4_turns", .apply = turn_back},
    {.name = "bad_4_workspace", .apply = overrun_workspace, .workspace_bytes = one_head},
};

constexpr std::size_t copies = 11;
struct BenchKernels {
  std::deque<std::string> names;
  std::deque<RegisteredKernel> kernels;
  void add(const Entries& entries) {
    KernelInfo info;
    info.name = entries.name;
    info.summary = "with \x1b[31m colour\nand a line";
    info.supports = entries.supports;
    info.prepare = entries.prepare;
    info.apply = entries.apply;
    info.release = entries.release;
    info.workspace_bytes = entries.workspace_bytes;
    kernels.emplace_back(info);
  }
  BenchKernels() {
    for (const Entries& entries : all) add(entries);
    for (std::size_t i = 0; i < copies; ++i) {
      const std::string number = (i < 10 ? "0" : "") + std::to_string(i);
      add({.name = names.emplace_back("same_" + number).c_str(), .supports = supports});
      add({.name = names.emplace_back("slow_" + number).c_str(),
           .apply = slow,
           .workspace_bytes = one_head,
           .supports = supports});
    }
  }
};
const BenchKernels registry;

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
