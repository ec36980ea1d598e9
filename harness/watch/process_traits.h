// How a process is scheduled, which a kernel could change by one call. Each trait is one number to
// compare.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace ropewalk::harness {

inline constexpr std::array trait_names{"nice value", "scheduling policy", "CPU affinity"};

/// Process 0 is the one that asks.
std::array<std::int64_t, trait_names.size()> process_traits(pid_t process);

}  // namespace ropewalk::harness
