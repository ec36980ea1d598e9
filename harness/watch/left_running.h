// What was running before a plugin was loaded, and which threads and child processes the loading of
// each plugin left running. A kernel answers for those of its own plugin alone.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/process/loaded_kernels.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// A thread of this process, or a process that descends from it.
struct Task {
  pid_t id;
  bool is_process;
  int loader;             ///< whose loading began it: 1 is the first plugin
  std::int64_t ran_ns;    ///< CPU time, when it was noted
  bool restless = false;  ///< waited for in vain
};

/// CPU time that the task has used; -1: it has ended.
std::int64_t cpu_time_ns(const Task& task);

/// The process that calls, as its kernels were loaded.
struct Loaded {
  struct Table {
    const rope_kernel* kernel;
    int loader;
    std::array<std::byte, sizeof(rope_kernel)> bytes;  ///< as the kernel was registered
    std::string name;
  };
  std::vector<Table> tables;
  std::vector<Task> tasks;
  std::string unwatched;  ///< what this process cannot watch, in words; empty: nothing
};
const Loaded& loaded();

/// Notes what runs before any plugin is loaded.
void note_before_loading();

/// Notes the kernels from index `first` on as those of one loading, and what the loading left
/// running. Waits for up to a second until that is at rest: a pool of threads may spin at first.
void note_loaded(const std::vector<LoadedKernel>& kernels, std::size_t first, int loader);

/// Whose loading brought the kernel; 0: the binary's own, or not known.
int loader_of(const rope_kernel* kernel);

/// All processes that descend from this one, where the system tells (CONFIG_PROC_CHILDREN).
std::vector<pid_t> descendants();

/// A child process, or one that has ended and was not waited for.
bool has_children();

}  // namespace ropewalk::harness
