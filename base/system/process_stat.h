// The state of a process as /proc shows it.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>

namespace ropewalk {

struct ProcessStat {
  char state = 0;  ///< R runs or could run, S sleeps, T is stopped, Z has ended, ...
  pid_t parent = 0;
  bool is_ending = false;  ///< its files are closed, or are being closed
};

/// Empty if there is no such process, or no /proc.
std::optional<ProcessStat> process_stat(pid_t process);

/// Calls `use` with each process of the system.
void for_each_process(const std::function<void(pid_t, const ProcessStat&)>& use);

}  // namespace ropewalk
