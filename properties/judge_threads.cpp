#include "properties/judge_threads.h"

#include "reference/frequencies.h"

namespace ropewalk::properties {

JudgeThreads::JudgeThreads(std::size_t count)
    : failures_(count), begin_or_end_(static_cast<std::ptrdiff_t>(count)) {
  for (std::size_t i = 1; i < count; ++i)
    others_.emplace_back([this, i] {
      for (;;) {
        begin_or_end_.arrive_and_wait();
        if (work_ == nullptr) return free_thread_caches();  // those of the oracle's arithmetic
        call(i);
        begin_or_end_.arrive_and_wait();
      }
    });
}

JudgeThreads::~JudgeThreads() {
  begin_or_end_.arrive_and_wait();
  for (std::thread& other : others_) other.join();
}

void JudgeThreads::call(std::size_t i) {
  try {
    (*work_)(i);
  } catch (...) {
    failures_[i] = std::current_exception();
  }
}

void JudgeThreads::run(const std::function<void(std::size_t)>& work) {
  work_ = &work;
  begin_or_end_.arrive_and_wait();
  call(0);
  begin_or_end_.arrive_and_wait();
  work_ = nullptr;
  std::exception_ptr first;
  for (std::exception_ptr& failure : failures_) {
    if (!first) first = failure;
    failure = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace ropewalk::properties
