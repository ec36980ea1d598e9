// How long a call may take before it counts as a hang.
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

#include "harness/protocol.h"

namespace ropewalk {

// Sanitizers slow a kernel by an order of magnitude.
#ifdef ROPEWALK_SANITIZED
inline constexpr double slow = 10;
#else
inline constexpr double slow = 1;
#endif
inline constexpr double prepare_limit_s = 60 * slow;  // untimed by contract, may build tables
inline constexpr double least_limit_s = 1 * slow;
inline constexpr double most_limit_s = 20 * slow;  // rows far apart span more than they fill
// A hundred times 2 ns for a byte of the tensors, which is slow for a scalar kernel: an allowance,
// not a measurement.
inline constexpr double limit_s_per_byte = 100 * 2e-9 * slow;

// The larger of one second and a hundred times what is usual for as much data. From the size
// alone: the verdict must not depend on which kernels ran before.
inline double apply_limit_s(const protocol::CallDescriptor& call) {
  std::uint64_t bytes = 0;
  for (const auto& tensor : call.tensor) bytes += tensor.in.mapped_bytes + tensor.out.mapped_bytes;
  return std::clamp(limit_s_per_byte * static_cast<double>(bytes), least_limit_s, most_limit_s);
}

// Those limits are of CPU time. One who waits gets this long. Time in which it could run, and
// others have the processor, does not count, up to so many times as long.
inline double waiting_limit_s(double limit_s) {
  return std::max(10 * slow, 2 * limit_s);
}
inline constexpr double starving_factor = 30;

// Whether a process could run right now; false where the system does not tell.
inline bool is_runnable(pid_t process) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/stat").c_str(), "re");
  if (file == nullptr) return false;
  char text[512] = {};
  const std::size_t bytes = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  // "PID (NAME) STATE ...": the name may hold anything.
  const std::size_t name_end = std::string_view(text, bytes).rfind(')');
  return name_end != std::string_view::npos && name_end + 2 < bytes && text[name_end + 2] == 'R';
}

// What a process has run so far; 0 where the system does not tell.
inline double cpu_time_s(pid_t process) {
  clockid_t clock{};
  timespec t{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace ropewalk
