// Shares jobs out among forked processes. Threads would not do: a worker belongs to the process
// that started it, and RapidCheck keeps static state.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace ropewalk::properties {

/// Sends a message of a job while it runs: a letter that the caller chooses (not d, e, u), and one
/// line of text.
using Tell = std::function<void(char, const std::string&)>;
using Work = std::function<void(std::uint32_t job, const Tell& tell)>;

/// What the parent does with each job and its messages.
struct ShareOut {
  std::uint32_t jobs = 0;
  int processes = 1;  ///< 1: all jobs run in this process
  /// Called once in each process. The function that it returns does the jobs.
  std::function<Work()> make_work;
  std::function<void(std::uint32_t job, char kind, const std::string& text)> on_line;
  /// Called when a job has ended. If it returns false, no more jobs begin.
  std::function<bool(std::uint32_t job)> on_done;
};

/// Jobs begin in their order, and each job that has begun runs to its end. Throws what a job throws
/// as WorkerError or std::runtime_error, and std::runtime_error when a process dies.
void share_out(const ShareOut& plan);

}  // namespace ropewalk::properties
