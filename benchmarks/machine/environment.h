// Describes where a run took place and how it was built, as words for the record.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/system/system_files.h"

namespace ropewalk::bench {

/// Describes processor, caches, frequency policy, clock, virtualisation, system, memory, load,
/// affinity, compiler, flags, library versions and revision. The keys are the same on every
/// machine. A fact that cannot be found is "not readable" (no /sys, no /proc, not Linux); it never
/// throws for that. The result holds no host name, no user name and no path.
std::map<std::string, std::string> describe_environment(const SystemFiles& files = SystemFiles());

/// The processors that this process may use.
std::vector<int> allowed_cpus();

}  // namespace ropewalk::bench
