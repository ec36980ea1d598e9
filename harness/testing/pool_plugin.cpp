// A plugin for tests. Loading it begins a thread that waits for work, as libraries with a thread
// pool do. TEST_POOL=child begins a process; TEST_POOL=spins and =settles begin a thread that uses
// CPU time.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "harness/testing/right_rotation.h"

namespace ropewalk {
namespace {

bool mode(const char* name) {
  const char* asked = std::getenv("TEST_POOL");
  return asked != nullptr && std::strcmp(asked, name) == 0;
}

const KernelInfo right = f32_table_kernel<right_head>("pool_idle");

void spin_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

struct Job {
  const rope_problem* problem;
  const rope_operands* operands;
};

class Pool {
 public:
  Pool() {
    if (mode("child"))
      begin_child();
    else
      std::thread([this] { work(); }).detach();
  }

  void run(const Job& job) {
    if (to_child_[1] >= 0) return ask_child(job);
    std::unique_lock lock(mutex_);
    job_ = &job;
    changed_.notify_all();
    changed_.wait(lock, [&] { return job_ == nullptr; });
  }

 private:
  static void do_job(const Job& job) {
    if (job.problem != nullptr) right.apply(job.problem, job.operands, nullptr);
  }

  void work() {
    while (mode("spins")) spin_for(std::chrono::microseconds(100));
    if (mode("settles")) spin_for(std::chrono::milliseconds(150));
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return job_ != nullptr; });
      do_job(*job_);
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  void begin_child() {
    if (pipe(to_child_) != 0 || pipe(from_child_) != 0) std::abort();
    if (fork() != 0) return;
    char byte = 0;
    while (read(to_child_[0], &byte, 1) == 1) {
      spin_for(std::chrono::microseconds(50));
      if (write(from_child_[1], &byte, 1) != 1) break;
    }
    _exit(0);
  }

  void ask_child(const Job& job) const {
    char byte = 0;
    if (write(to_child_[1], &byte, 1) == 1 && read(from_child_[0], &byte, 1) == 1) do_job(job);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const Job* job_ = nullptr;
  int to_child_[2] = {-1, -1}, from_child_[2] = {-1, -1};
};
Pool& pool = *new Pool;  // its thread outlives every destructor

std::int32_t let_pool_rotate(const rope_problem* p, const rope_operands* o, void*) {
  const Job job{p, o};
  pool.run(job);
  return ROPE_OK;
}
std::int32_t let_pool_prepare(const rope_problem*, void**) {
  const Job nothing{nullptr, nullptr};
  pool.run(nothing);
  return ROPE_OK;
}

KernelInfo with_pool(const char* name, decltype(rope_kernel::prepare) prepare,
                     decltype(rope_kernel::apply) apply) {
  KernelInfo info = right;
  info.name = name;
  info.prepare = prepare;
  info.apply = apply;
  return info;
}

const RegisteredKernel kernels[] = {
    RegisteredKernel{right},
    RegisteredKernel{with_pool("pool_prepares", let_pool_prepare, right.apply)},
    RegisteredKernel{with_pool("pool_works", nullptr, let_pool_rotate)},
};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
