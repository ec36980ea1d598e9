// Threads that do the same at the same time, each on a processor of its own: what a shape costs
// when every processor works on a set of its own (weak scaling).
#pragma once
#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/system/system_files.h"

namespace ropewalk::bench {

/// `threads` of the processors this process may use, one of each core before a second of any;
/// empty where there are not so many.
std::vector<int> processors_for(int threads, const std::vector<int>& allowed,
                                const SystemFiles& files = SystemFiles());

/// "0+4,1": 0 and 4 are siblings, threads of one core.
std::string processors_text(const std::vector<int>& processors,
                            const SystemFiles& files = SystemFiles());

class Crew {
 public:
  struct Time {
    double wall_s = 0;  ///< from the first begin to the last end
    double cpu_s = 0;   ///< of all threads together
    std::int64_t involuntary_switches = 0, page_faults = 0;
  };

  /// A thread for each processor, pinned to it: the caller's own, for as long as the crew lives,
  /// and some more. Without processors the caller works alone, wherever it is.
  explicit Crew(std::vector<int> processors = {});
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return static_cast<int>(times_.size()); }
  /// As processors_text(); empty for a caller alone.
  std::string processors() const { return processors_text(processors_); }
  /// task(0) .. task(size() - 1), begun together, each on its thread. A task must not throw.
  Time run(const std::function<void(int)>& task);

 private:
  void work(int member);
  void take_part(int member);

  std::vector<int> processors_, before_;
  std::vector<Time> times_;
  std::vector<double> began_s_, ended_s_;
  const std::function<void(int)>* task_ = nullptr;  // NULL: the end
  std::barrier<> gate_;                             // twice a task: it is there, it is done
  std::atomic<int> waiting_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ropewalk::bench
