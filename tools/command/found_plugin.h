// Plugins that the command takes without being asked, where they lie beside it: the CUDA kernels,
// and for timing the baselines.
#pragma once
#include <string>

#include "harness/worker/worker.h"

namespace ropewalk::tools {

/// The path of a file in the folder of the command, or where `cmake --install` puts plugins; empty
/// if there is none.
std::string file_beside_command(const std::string& name);

/// The path of the plugin `name` in the folder of the command, or where `cmake --install` puts it.
/// Empty if there is none, or if it cannot be taken. Then one line on standard error says SKIPPED,
/// why, and the `option` that leaves it out. It cannot be taken if its own worker does not load it,
/// or if one of `given.plugins` has a kernel of the same name. One command looks once. Throws
/// WorkerError if one of those cannot be loaded.
std::string found_plugin(const harness::WorkerOptions& given, const std::string& name,
                         const char* option);

}  // namespace ropewalk::tools
