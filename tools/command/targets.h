// What is judged or timed, as the user names it: a file, a kernel in a file, or a kernel of the
// tree.
#pragma once
#include <string>
#include <vector>

#include "tools/command/options.h"

namespace ropewalk::tools {

/// A target with a / or a suffix is a file, perhaps with ::KERNEL behind it.
bool is_file_target(const std::string& target);

struct TargetParts {
  std::string file, kernel;  ///< what stands before :: and behind it
};
TargetParts parts_of(const std::string& target);

/// The file of a library that is known by name (python/ropewalk/libraries); empty: none is.
std::string library_file(const std::string& name);

/// Whether a target is such a library, a Python file that offers providers of angles, or a file of
/// answers.
bool has_providers(const std::string& target);

/// The file whose kernels a target with providers names.
std::string plugin_of(const std::string& target);

/// Makes plugins and kernels of the targets: a file is loaded, and all its kernels are chosen, or
/// those that match the glob behind ::. `beside` are kernels that are chosen too, where they exist.
/// Throws UsageError for source code, and for a file without a kernel of that name.
/// With `provides`, targets with providers go to `provided` instead.
void take_targets(KernelChoice& choice, const std::vector<std::string>& beside = {},
                  bool provides = false);

}  // namespace ropewalk::tools
