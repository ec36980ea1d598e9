// Threads that judge one kernel at the same time.
#pragma once
#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace ropewalk::properties {

/// The caller's thread and count - 1 others. They live as long as this object, because a worker
/// ends with the thread that started it.
class JudgeThreads {
 public:
  explicit JudgeThreads(std::size_t count = 1);
  ~JudgeThreads();
  JudgeThreads(const JudgeThreads&) = delete;

  std::size_t count() const { return failures_.size(); }
  /// Calls work(0) in the caller's thread and work(1), ... in the others, and waits for all. If
  /// some throw, throws the exception of the lowest number.
  void run(const std::function<void(std::size_t)>& work);

 private:
  void call(std::size_t i);

  std::vector<std::exception_ptr> failures_;
  std::barrier<> begin_or_end_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // NULL: the threads end
  std::vector<std::thread> others_;
};

}  // namespace ropewalk::properties
