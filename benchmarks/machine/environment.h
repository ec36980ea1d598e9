// Where a run took place and what it was built with, as words for the record.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/system/system_files.h"

namespace ropewalk::bench {

/// Processor, caches, frequency policy, clock, virtualisation, system, memory, load, affinity,
/// compiler, flags, library versions, revision. Same keys everywhere; what cannot be found is "not
/// readable" (no /sys, no /proc, not Linux). Never throws for it. No host name, no user name, no
/// path.
std::map<std::string, std::string> describe_environment(const SystemFiles& files = SystemFiles());

/// The processors this process may run on.
std::vector<int> allowed_cpus();

/// "on", "off", or empty where it cannot be read.
std::string turbo_state(const SystemFiles& files);

/// "none seen", "hypervisor", "hypervisor (VENDOR)", or empty where it cannot be read.
std::string virtualization(const SystemFiles& files);

}  // namespace ropewalk::bench
