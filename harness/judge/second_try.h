// When a case is made once more before a verdict: its process was killed, or took too long for the
// bytes of the call but perhaps not for the work.
#pragma once
#include <string>
#include <string_view>

#include "base/system/memory_limits.h"
#include "harness/judge/executor.h"

namespace ropewalk::harness {

/// At the end of what is said of a case whose process was killed twice. The exit code is 3, since
/// nothing is known of the kernel.
inline constexpr std::string_view ended_from_outside = "ended from outside (memory?)";
std::string killed_twice(const CallResult& result);

/// SIGKILL ended the kernel's process, as the system does when memory runs out. The caller tries
/// once more before the case counts as SKIPPED.
class Killed : public NoMemory {
  using NoMemory::NoMemory;
};

/// Call it after a hang, and make the case again if it returns true. A call of the same heads with
/// a sixteenth of the tokens is measured, which tells how long the kernel needs (Pace). False: the
/// time does not explain the hang, or is known already, or the kernel takes no fewer tokens.
bool learn_pace(Subject& subject, const Case& c);

}  // namespace ropewalk::harness
