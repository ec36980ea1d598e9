// Where a run took place and what it was built with, as words for the record.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace ropewalk {

/// Processor, caches, frequency policy, virtualisation, system, memory, load, affinity, compiler,
/// flags, library versions, revision. Same keys everywhere; what cannot be found is "unknown" (no
/// /sys, no /proc, not Linux). Never throws for it. No host name, no user name, no path.
std::map<std::string, std::string> describe_environment();

/// Memory that can still be had: the system's estimate, less where a control group grants less. The
/// largest int64_t where nobody knows.
std::int64_t available_memory_bytes();

}  // namespace ropewalk
