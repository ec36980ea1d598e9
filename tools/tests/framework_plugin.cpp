// Kernels that do what the contract forbids, each f32 with tables and right but where it says so.
// They declare it, unless TEST_DECLARES is 0.
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/testing/right_rotation.h"
#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

bool declares() {
  const char* said = std::getenv("TEST_DECLARES");
  return said == nullptr || std::strcmp(said, "0") != 0;
}

std::int32_t allocates(const rope_problem* p, const rope_operands* o, void* state) {
  void* volatile memory = std::malloc(999);
  std::free(memory);
  return right(p, o, state);
}
std::int32_t prints(const rope_problem* p, const rope_operands* o, void* state) {
  std::printf("a line\n");  // the buffer of stdout is the suite's
  return right(p, o, state);
}
std::int32_t joins(const rope_problem* p, const rope_operands* o, void* state) {
  std::thread([&] { right(p, o, state); }).join();
  return ROPE_OK;
}

float behind(const rope_problem& p, const rope_operands& o) {
  const rope_tensor& t = p.tensor[0];
  const std::int64_t last = (p.batch > 1 ? (p.batch - 1) * t.in_batch_stride : 0) +
                            (p.tokens > 1 ? (p.tokens - 1) * t.in_token_stride : 0) +
                            (t.heads > 1 ? (t.heads - 1) * t.in_head_stride : 0);
  return static_cast<const volatile float*>(o.tensor[0].in)[last + t.head_dim];
}
std::int32_t reads_past(const rope_problem* p, const rope_operands* o, void* state) {
  behind(*p, *o);
  return right(p, o, state);
}
// With an input that is not at the end of its pages the values behind are poison, too.
std::int32_t uses_past(const rope_problem* p, const rope_operands* o, void* state) {
  const float read = behind(*p, *o);
  right(p, o, state);
  if (read != 0 && p->tensor[0].rotate != 0)
    static_cast<float*>(o->tensor[0].out)[p->tensor[0].rotary_offset] = read;
  return ROPE_OK;
}

// A thread that lives on and does a job at a time. Its first job begins it.
template <class Job>
class OneThread {
 public:
  explicit OneThread(void (*work)(const Job&)) {
    std::thread([this, work] {
      for (std::unique_lock lock(mutex_);;) {
        changed_.wait(lock, [&] { return is_asked_; });
        work(job_);
        is_asked_ = false;
        changed_.notify_all();
      }
    }).detach();
  }
  void ask(const Job& job) {
    const std::lock_guard lock(mutex_);
    job_ = job;
    is_asked_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !is_asked_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Job job_{};
  bool is_asked_ = false;
};

struct PoolCall {
  const rope_problem* problem;
  const rope_operands* operands;
};
OneThread<PoolCall>& pool() {
  static auto& kept =
      *new OneThread<PoolCall>([](const PoolCall& c) { right(c.problem, c.operands, nullptr); });
  return kept;
}
std::int32_t begin_pool(const rope_problem*, void**) {
  pool();
  return ROPE_OK;
}
std::int32_t lets_pool(const rope_problem* p, const rope_operands* o, void*) {
  pool().ask({p, o});
  pool().wait();
  return ROPE_OK;
}

// Leaves the last element of the last row to its thread, which sets it 300 us later. Only shapes of
// 1,009 tokens get this, so that the gate lets it through.
struct Late {
  float *at, value;
};
std::int32_t finishes_later(const rope_problem* p, const rope_operands* o, void* state) {
  static auto& thread = *new OneThread<Late>([](const Late& late) {
    usleep(300);
    *late.at = late.value;
  });
  thread.wait();
  right(p, o, state);
  const rope_tensor& t = p->tensor[0];
  if (p->tokens != 1009) return ROPE_OK;
  float& last =
      static_cast<float*>(o->tensor[0].out)[(p->tokens - 1) * t.out_token_stride +
                                            (t.heads - 1) * t.out_head_stride + t.head_dim - 1];
  thread.ask({&last, last});
  last = std::nextafter(last, 0.0f);
  return ROPE_OK;
}

// Turns what it was last given again whenever that changes, as its thread sees, and only copies
// what is there already. The work of a call takes long.
struct Ahead {
  std::mutex mutex;
  std::vector<float> in[ROPE_MAX_TENSORS], out[ROPE_MAX_TENSORS];
  std::vector<std::int32_t> positions;
  rope_problem problem{};
  rope_operands operands{};
  bool is_known = false;
};
template <class Element>
bool equals(const std::vector<Element>& kept, const void* at) {
  return std::memcmp(kept.data(), at, kept.size() * sizeof(Element)) == 0;
}
template <class Element>
void take(std::vector<Element>& kept, const void* at) {
  std::memcpy(kept.data(), at, kept.size() * sizeof(Element));
}
bool is_as_given(const Ahead& a) {
  bool is = equals(a.positions, a.operands.positions);
  for (std::uint32_t i = 0; i < a.problem.tensor_count; ++i)
    is = is && equals(a.in[i], a.operands.tensor[i].in);
  return is;
}
void turn(Ahead& a) {
  take(a.positions, a.operands.positions);
  rope_operands kept = a.operands;
  kept.positions = a.positions.data();
  for (std::uint32_t i = 0; i < a.problem.tensor_count; ++i) {
    take(a.in[i], a.operands.tensor[i].in);
    kept.tensor[i].in = a.in[i].data();
    kept.tensor[i].out = a.out[i].data();
  }
  for (int again = 0; again < 2; ++again) right(&a.problem, &kept, nullptr);
}
Ahead& ahead() {
  static auto& kept = *new Ahead;
  return kept;
}
std::int32_t begin_ahead(const rope_problem*, void**) {
  static const bool begun = [] {
    std::thread([] {
      for (;; usleep(100)) {
        const std::lock_guard lock(ahead().mutex);
        if (ahead().is_known && !is_as_given(ahead())) turn(ahead());
      }
    }).detach();
    return true;
  }();
  const std::lock_guard lock(ahead().mutex);
  ahead().is_known = false;  // what was given may be gone
  return begun ? ROPE_OK : ROPE_FAILED;
}
void forget_ahead(void*) {
  const std::lock_guard lock(ahead().mutex);
  ahead().is_known = false;
}
std::int32_t works_ahead(const rope_problem* p, const rope_operands* o, void* state) {
  if (p->tokens != 1009 || p->tensor[0].in_place != 0) return right(p, o, state);
  Ahead& a = ahead();
  const std::lock_guard lock(a.mutex);
  a.problem = *p;
  a.operands = *o;
  for (std::uint32_t i = 0; i < p->tensor_count && !a.is_known; ++i)
    for (auto* const kept : {&a.in[i], &a.out[i]})
      kept->resize(
          static_cast<std::size_t>(p->tokens * p->tensor[i].heads * p->tensor[i].head_dim));
  a.positions.resize(static_cast<std::size_t>(p->tokens));
  if (!a.is_known || !is_as_given(a)) turn(a);
  a.is_known = true;
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    std::memcpy(o->tensor[i].out, a.out[i].data(), a.out[i].size() * sizeof(float));
  return ROPE_OK;
}

std::int32_t supports_f32(const rope_problem* p, const char** reason) {
  if (p->pairing != ROPE_HALF_SPLIT) return refuse(reason, "half_split only");
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}

KernelInfo that(const char* name, decltype(rope_kernel::apply) apply, std::uint32_t exceptions,
                std::uint32_t past = 0) {
  KernelInfo info;
  info.name = name;
  info.supports = supports_f32;
  info.apply = apply;
  info.exceptions = declares() ? exceptions : 0;
  info.reads_past = past;
  return info;
}
KernelInfo with(KernelInfo info, decltype(rope_kernel::prepare) prepare,
                decltype(rope_kernel::release) release = nullptr) {
  info.prepare = prepare;
  info.release = release;
  return info;
}

const RegisteredKernel kernels[] = {
    RegisteredKernel{that("fw_allocates", allocates, ROPE_ALLOCATES)},
    RegisteredKernel{that("fw_prints", prints, ROPE_PRINTS)},
    RegisteredKernel{that("fw_joins", joins, ROPE_ALLOCATES | ROPE_USES_THREADS)},
    RegisteredKernel{with(that("fw_pool", lets_pool, ROPE_KEEPS_THREADS), begin_pool)},
    RegisteredKernel{that("fw_reads_past", reads_past, 0, 4)},
    RegisteredKernel{that("fw_uses_past", uses_past, 0, 4)},
    RegisteredKernel{that("fw_later", finishes_later, ROPE_ALLOCATES | ROPE_KEEPS_THREADS)},
    RegisteredKernel{with(that("fw_ahead", works_ahead, ROPE_ALLOCATES | ROPE_KEEPS_THREADS),
                          begin_ahead, forget_ahead)},
};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
