// Notes what ran before a plugin was loaded, and which threads and child processes the loading of
// each plugin left running. A kernel answers only for those of its own plugin. Notes as well what
// else the loading left changed in the process: no kernel answers for that, but the user is told.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/process/loaded_kernels.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// A thread of this process, or a process that descends from it.
struct Task {
  pid_t id;
  bool is_process;
  int loader;                  ///< the loading that began it; 1 is the first plugin
  const rope_kernel* left_by;  ///< the kernel whose entry began it; NULL: the loading itself
  std::int64_t ran_ns;         ///< CPU time when the task was noted
  bool restless = false;       ///< the wait for its rest ended without success
};

/// The CPU time that the task has used, in ns; -1: the task has ended.
std::int64_t cpu_time_ns(const Task& task);

/// The calling process, as it was when its kernels were loaded.
struct Loaded {
  struct Table {
    const rope_kernel* kernel;      ///< as the worker calls it
    const rope_kernel* registered;  ///< as it lies in the plugin
    int loader;
    std::vector<std::byte> bytes;  ///< of the registered one, when it was registered
    std::string name;
  };
  std::vector<Table> tables;
  std::vector<Task> tasks;
  /// What this process cannot watch, in words, or nothing; then lines about plugins whose loading
  /// left the process changed.
  std::string remarks;
};
const Loaded& loaded();

/// What cannot be watched in a process of `threads`, with or without its registers; empty: nothing.
std::string unwatched(std::size_t threads, bool registers);

/// Notes what runs before any plugin is loaded.
void note_before_loading();

/// Loads a plugin, and notes what that left changed. Puts the floating-point unit back, so that
/// other kernels and the suite itself run without the change. Returns what happened to descriptors
/// 3 and 4, by which the worker speaks, in words; empty: nothing.
std::string watch_loading(const std::string& plugin, const std::function<void()>& load);

/// Notes the kernels from index `first` on as those of one loading, and what the loading left
/// running. Waits up to 1 s until these tasks rest, since a pool of threads may spin at first.
void note_loaded(const std::vector<LoadedKernel>& kernels, std::size_t first, int loader);

/// Notes what an entry of this kernel, of that loading, left running.
void note_left(int loader, const rope_kernel* kernel);

/// False for a task that another kernel of the plugin left and that never rests: it would run
/// whatever this kernel did. A task that rests between calls may be a pool that the kernels share.
bool is_charged_to(const rope_kernel* kernel, const Task& task);

/// Whether the kernel's plugin began threads or processes that are still there.
bool has_own_tasks(const rope_kernel* kernel);

/// The CPU time in ns that the threads and processes which this kernel's plugin began have used.
std::int64_t own_threads_ns(const rope_kernel* kernel);

/// The loading that brought the kernel; 0: the kernel is the binary's own, or not known.
int loader_of(const rope_kernel* kernel);

/// All processes that descend from this one, if the system lists them (CONFIG_PROC_CHILDREN).
std::vector<pid_t> descendants();

/// True if there is a child process, also one that has ended and was not waited for.
bool has_children();

}  // namespace ropewalk::harness
