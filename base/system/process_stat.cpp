#include "base/system/process_stat.h"

#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace ropewalk {

std::optional<ProcessStat> process_stat(pid_t process) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/stat").c_str(), "re");
  if (file == nullptr) return std::nullopt;
  char text[512] = {};
  const std::size_t bytes = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  // "PID (NAME) STATE PARENT GROUP SESSION TTY TTY_GROUP FLAGS ...". The name may contain any
  // characters.
  const std::size_t name_end = std::string_view(text, bytes).rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  constexpr unsigned exiting = 4;  // PF_EXITING of the kernel's sched.h
  ProcessStat stat;
  int parent = 0;
  unsigned flags = 0;
  if (std::sscanf(text + name_end + 1, " %c %d %*d %*d %*d %*d %u", &stat.state, &parent, &flags) !=
      3)
    return std::nullopt;
  stat.parent = parent;
  stat.is_ending = (flags & exiting) != 0 || stat.state == 'Z' || stat.state == 'X';
  return stat;
}

void for_each_process(const std::function<void(pid_t, const ProcessStat&)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (!proc) return;
  while (const dirent* entry = readdir(proc.get())) {
    const int process = std::atoi(entry->d_name);  // 0 if the name is no number
    if (process <= 0) continue;
    if (const auto stat = process_stat(process)) use(process, *stat);
  }
}

}  // namespace ropewalk
