// When a case is made once more before a verdict: its process was killed.
#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/system/memory_limits.h"
#include "harness/judge/executor.h"

namespace ropewalk::harness {

/// At the end of what is said of a case whose process was killed twice. The exit code is 3, since
/// nothing is known of the kernel.
inline constexpr std::string_view ended_from_outside = "ended from outside (memory?)";
inline std::string killed_twice(const CallResult& result) {
  return fmt::format("{}, and once more in a fresh process: {}", result.text, ended_from_outside);
}

/// SIGKILL ended the kernel's process, as the system does when memory runs out. The caller tries
/// once more before the case counts as SKIPPED.
class Killed : public NoMemory {
  using NoMemory::NoMemory;
};

}  // namespace ropewalk::harness
