// Jobs shared out among forked processes. Processes and not threads: a worker belongs to the one
// that started it, and RapidCheck keeps static state.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace ropewalk::properties {

/// What a job says while it runs: a letter of the caller's (but d, e, u), and one line of text.
using Tell = std::function<void(char, const std::string&)>;
using Work = std::function<void(std::uint32_t job, const Tell& tell)>;

/// What the parent does with it, told job by job.
struct ShareOut {
  std::uint32_t jobs = 0;
  int processes = 1;  ///< 1: everything in this process
  /// Called once in each process; what it returns does the jobs.
  std::function<Work()> make_work;
  std::function<void(std::uint32_t job, char kind, const std::string& text)> on_line;
  /// A job has ended; false: begin no more of them.
  std::function<bool(std::uint32_t job)> on_done;
};

/// Jobs begin in their order; those that have begun come to their end. Throws what a job throws as
/// WorkerError or std::runtime_error, and std::runtime_error when a process dies.
void share_out(const ShareOut& plan);

}  // namespace ropewalk::properties
