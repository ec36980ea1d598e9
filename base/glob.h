// Picks names by shell patterns, as --kernel, --property, --workload and known failures do:
// avx*, avx[25]*, and as in bash !(avx2|plain), which is all others.
#pragma once
#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ropewalk {

inline bool glob_matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), FNM_EXTMATCH) == 0;
}

/// True if a name matches one of the globs. An empty list of globs matches every name.
inline bool matches(const std::vector<std::string>& globs, const std::string& name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) {
           return glob_matches(glob, name);
         });
}

}  // namespace ropewalk
