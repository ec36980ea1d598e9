// Names picked by shell patterns: what --kernel, --property, --workload and known failures mean.
#pragma once
#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ropewalk {

inline bool glob_matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

/// Whether a name matches one of the globs; no globs match everything.
inline bool matches(const std::vector<std::string>& globs, const std::string& name) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return glob_matches(glob, name);
         });
}

}  // namespace ropewalk
