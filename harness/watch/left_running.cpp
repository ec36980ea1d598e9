#include "harness/watch/left_running.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <set>

#include "harness/process/float_state.h"
#include "harness/process/time_limits.h"
#include "harness/watch/process_state.h"

namespace ropewalk::harness {
namespace {

Loaded notes;
std::set<pid_t> before;  // processes and threads that ran then

// The ids of the threads of a process.
std::vector<pid_t> threads_of(const std::string& process) {
  std::vector<pid_t> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(("/proc/" + process + "/task").c_str()),
                                                   closedir);
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder.get()))
    if (const int id = std::atoi(entry->d_name); id > 0) out.push_back(id);
  return out;
}

void add_descendants(const std::string& process, std::vector<pid_t>& out) {
  for (const pid_t thread : threads_of(process)) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/children", process, thread));
    for (pid_t child = 0; file >> child;) {
      out.push_back(child);
      add_descendants(std::to_string(child), out);
    }
  }
}

std::vector<Task> tasks_since(int loader, const rope_kernel* left_by = nullptr) {
  std::vector<Task> out;
  const auto add = [&](const std::vector<pid_t>& ids, bool is_process) {
    for (const pid_t id : ids) {
      if (before.contains(id)) continue;
      Task task{id, is_process, loader, left_by, 0};
      task.ran_ns = cpu_time_ns(task);
      if (task.ran_ns >= 0) out.push_back(task);
    }
  };
  add(threads_of("self"), false);
  if (has_children()) add(descendants(), true);
  return out;
}

void add_tasks(const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    before.insert(task.id);
    notes.tasks.push_back(task);
  }
}

// True if none of them ran between the two looks, and none waits for a processor.
bool at_rest(const std::vector<Task>& earlier, const std::vector<Task>& now) {
  return std::ranges::all_of(now, [&](const Task& task) {
    const auto then =
        std::ranges::find_if(earlier, [&](const Task& other) { return other.id == task.id; });
    return then != earlier.end() && then->ran_ns == task.ran_ns && !is_runnable(task.id);
  });
}

}  // namespace

const Loaded& loaded() {
  return notes;
}

// The id of a task's clock (Linux: kernel/time/posix-cpu-timers.c).
std::int64_t cpu_time_ns(const Task& task) {
  constexpr unsigned scheduler_clock = 2, of_a_thread = 4;
  const unsigned id = (~static_cast<unsigned>(task.id) << 3) | scheduler_clock |
                      (task.is_process ? 0 : of_a_thread);
  timespec t{};
  if (clock_gettime(static_cast<clockid_t>(id), &t) != 0) return -1;
  const std::int64_t ns = static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
  return ns < task.ran_ns ? -1 : ns;  // a smaller time means that another task has the id by now
}

bool has_children() {
  siginfo_t any{};
  return waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

std::vector<pid_t> descendants() {
  std::vector<pid_t> out;
  add_descendants("self", out);
  return out;
}

void note_before_loading() {
  notes = {};
  const std::vector<pid_t> own = threads_of("self");
  before = {own.begin(), own.end()};
  notes.remarks = unwatched(before.size(), has_float_state);
}

std::string unwatched(std::size_t threads, bool registers) {
  std::vector<std::string> out;
  if (threads == 0) out.emplace_back("threads, as there is no /proc");
  if (threads > 1)
    out.push_back(
        fmt::format("threads that apply begins and ends, and memory that it maps, as {} threads "
                    "ran before any kernel was loaded",
                    threads));
  if (!registers)
    out.emplace_back(
        "registers that a call must keep, and the floating-point unit, as the processor is not "
        "x86-64");
  return (out.empty() ? "" : "not watched here: ") + fmt::format("{}", fmt::join(out, "; "));
}

// g++ before 13 links start-up code into a library of -ffast-math that makes the processor flush
// subnormals. Threads are no change: libraries begin some, and note_loaded watches these.
std::string watch_loading(const std::string& plugin, const std::function<void()>& load) {
  constexpr std::uint32_t flushes = 0x8040;  // FTZ and DAZ of MXCSR
  const ProcessState before;
  const FloatState floats = FloatState::now();
  load();
  const FloatState now = FloatState::now();
  floats.restore();
  if (now != floats)
    notes.remarks += fmt::format(
        "\nplugin {}: loading it left the floating-point environment changed: {} became {}{}; its "
        "kernels are called without this change",
        plugin, floats.text(), now.text(),
        (now.mxcsr & ~floats.mxcsr & flushes) == 0
            ? ""
            : " (subnormals count as 0, which start-up code of -ffast-math does)");
  Deeds left = before.quick_changes(false);
  left.add_all("", before.other_changes());
  if (before.has_lost_wire()) return left.beyond(0);
  if (!left.empty())
    notes.remarks += fmt::format("\nplugin {}: loading it {}; all its results are made with this",
                                 plugin, left.beyond(0));
  return {};
}

void note_loaded(const std::vector<LoadedKernel>& kernels, std::size_t first, int loader) {
  for (std::size_t i = first; i < kernels.size(); ++i) {
    const rope_kernel* registered = kernels[i].registered;
    const auto* bytes = reinterpret_cast<const std::byte*>(registered);
    notes.tables.push_back(
        {kernels[i].kernel,
         registered,
         loader,
         {bytes, bytes + std::min<std::size_t>(registered->struct_size, sizeof(rope_kernel))},
         kernels[i].kernel->name});
  }
  if (loader == 0) return;
  constexpr int looks = 100;
  constexpr useconds_t pause_us = 10'000;
  std::vector<Task> tasks = tasks_since(loader);
  for (int look = 0; look < looks && !tasks.empty(); ++look) {
    usleep(pause_us);
    std::vector<Task> now = tasks_since(loader);
    const bool done = at_rest(tasks, now);
    tasks = std::move(now);
    if (done) break;
  }
  add_tasks(tasks);
}

void note_left(int loader, const rope_kernel* kernel) {
  std::erase_if(notes.tasks, [](const Task& task) {
    if (cpu_time_ns(task) >= 0) return false;
    before.erase(task.id);
    return true;
  });
  add_tasks(tasks_since(loader, kernel));
}

bool is_charged_to(const rope_kernel* kernel, const Task& task) {
  return task.loader == loader_of(kernel) &&
         (task.left_by == nullptr || task.left_by == kernel || !task.restless);
}

bool has_own_tasks(const rope_kernel* kernel) {
  const int loader = loader_of(kernel);
  return loader != 0 && std::ranges::any_of(notes.tasks, [&](const Task& task) {
           return task.loader == loader && cpu_time_ns(task) >= 0;
         });
}

std::int64_t own_threads_ns(const rope_kernel* kernel) {
  const int loader = loader_of(kernel);
  std::int64_t sum = 0;
  for (const Task& task : notes.tasks)
    if (task.loader == loader) sum += std::max<std::int64_t>(cpu_time_ns(task), 0);
  return sum;
}

int loader_of(const rope_kernel* kernel) {
  const auto found = std::ranges::find_if(
      notes.tables, [&](const Loaded::Table& t) { return t.kernel == kernel; });
  return found == notes.tables.end() ? 0 : found->loader;
}

}  // namespace ropewalk::harness
