// For tests of the worker: a real process with the test plugin, and what /proc shows of the
// process.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/system/process_stat.h"
#include "harness/testing/own_worker.h"

namespace ropewalk::harness {

namespace fs = std::filesystem;
using Kind = CallResult::Kind;

inline const std::string plugin = TEST_PLUGIN;
inline const std::string hostile_plugin = HOSTILE_PLUGIN;

/// Sets the error that testing/plugin.cpp makes while this object lives.
struct PluginFault {
  explicit PluginFault(const char* name) { setenv("TEST_PLUGIN_FAULT", name, 1); }
  ~PluginFault() { unsetenv("TEST_PLUGIN_FAULT"); }
};

/// Sets what the kernel of testing/harmful_plugin.cpp does, and in which entry, while this object
/// lives.
struct Hostility {
  Hostility(const char* what, const char* where) {
    setenv("HOSTILE_DO", what, 1);
    setenv("HOSTILE_IN", where, 1);
  }
  ~Hostility() {
    unsetenv("HOSTILE_DO");
    unsetenv("HOSTILE_IN");
  }
};

/// The message of the WorkerError that starting a worker with these options throws.
inline std::string refusal(const WorkerOptions& o) {
  try {
    Worker(o).kernels();
  } catch (const WorkerError& error) {
    return error.what();
  }
  return "";
}

/// Counting processes and descriptors takes /proc, which a bare chroot lacks.
inline bool has_proc() {
  return fs::exists("/proc/self/stat");
}

/// The child processes of a process, zombies too.
inline std::vector<pid_t> children(pid_t of = getpid()) {
  std::vector<pid_t> out;
  for_each_process([&](pid_t process, const ProcessStat& stat) {
    if (stat.parent == of) out.push_back(process);
  });
  return out;
}

/// The workers that a process has. Each worker is a child of its keeper.
inline std::vector<pid_t> workers_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const pid_t keeper : children(parent))
    for (const pid_t worker : children(keeper)) out.push_back(worker);
  return out;
}

inline std::ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

/// Kills a child and waits until it is dead, without reaping it.
inline void kill_quietly(pid_t child) {
  kill(child, SIGKILL);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
}

/// Runs one case with one kernel of the test plugin.
class WorkerTest : public ::testing::Test {
 protected:
  KernelFacts facts(const std::string& name) { return subject_of(worker, oracle, name).facts; }
  Execution run(const std::string& kernel, const std::string& line = "rotary_dim=8 q.head_dim=8") {
    Subject subject = subject_of(worker, oracle, kernel);
    return execute(subject, make_problem(case_from_text(line), oracle));
  }
  std::string text_of(const std::string& kernel, Kind kind) {
    const CallResult result = run(kernel).result;
    EXPECT_EQ(result.kind, kind) << kernel << ": " << result.text;
    return result.text;
  }

  Worker worker{options({plugin})};
  Oracle oracle;
};

}  // namespace ropewalk::harness
