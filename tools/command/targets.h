// What is judged or timed, as the user names it: a file, a kernel in a file, or a kernel of the
// tree.
#pragma once
#include <string>
#include <vector>

#include "tools/command/options.h"

namespace ropewalk::tools {

/// A target with a / or a suffix is a file, perhaps with ::KERNEL behind it.
bool is_file_target(const std::string& target);

/// Makes plugins and kernels of the targets: a file is loaded, and all its kernels are chosen, or
/// those that match the glob behind ::. `beside` are kernels that are chosen too, where they exist.
/// Throws UsageError for source code, and for a file without a kernel of that name.
void take_targets(KernelChoice& choice, const std::vector<std::string>& beside = {});

}  // namespace ropewalk::tools
