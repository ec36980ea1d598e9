// Threads that do the same work at the same time, each on its own processor. They show what a shape
// costs when every processor works on its own set (weak scaling).
#pragma once
#include <alloca.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/system/system_files.h"

namespace ropewalk::bench {

/// Chooses `threads` of the processors that this process may use. Each core gives one processor
/// before any core gives a second. Empty if there are too few.
std::vector<int> processors_for(int threads, const std::vector<int>& allowed,
                                const SystemFiles& files = SystemFiles());

/// For example "0+4,1", where 0 and 4 are threads of one core.
std::string processors_text(const std::vector<int>& processors,
                            const SystemFiles& files = SystemFiles());

// Where the stack lies changes the time of some loops by percents.
/// Offsets are multiples of the step below a page.
inline constexpr std::size_t stack_page = 4096, stack_step = 16;

/// Calls `function` with the stack `bytes` further down.
template <class Function>
[[gnu::noinline]] auto at_stack_offset(std::size_t bytes, Function&& function) {
  volatile auto* room = static_cast<volatile char*>(alloca(bytes + 16));
  room[0] = 0;
  const auto result = function();
  room[bytes] = 0;  // prevents a tail call, so the room stays
  return result;
}

class Crew {
 public:
  struct Time {
    double wall_s = 0;  ///< from the first start to the last end
    double cpu_s = 0;   ///< summed over all threads
    std::int64_t involuntary_switches = 0;
  };

  /// Makes a thread for each processor and pins it there. The caller is the first of them, as long
  /// as the crew lives. Without processors the caller works alone and unpinned.
  explicit Crew(std::vector<int> processors = {});
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return static_cast<int>(times_.size()); }
  /// As processors_text(); empty if the caller works alone.
  std::string processors() const { return processors_text(processors_); }
  /// Runs task(0) .. task(size() - 1), each on its thread. They start together. A task must not
  /// throw.
  Time run(const std::function<void(int)>& task);
  /// Runs the task on the caller alone, which may use all processors of the crew meanwhile, and so
  /// may threads that it begins.
  Time run_alone(const std::function<void()>& task);

 private:
  void work(int member);
  void take_part(int member);

  std::vector<int> processors_, first_, before_;
  std::vector<Time> times_;
  std::vector<double> began_s_, ended_s_;
  const std::function<void(int)>* task_ = nullptr;  // NULL: the threads end
  // Passed twice a task: when it is there and when it is done.
  std::barrier<> gate_;
  std::atomic<int> waiting_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ropewalk::bench
