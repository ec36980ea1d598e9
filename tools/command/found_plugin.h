// The plugin that the command takes without being asked: the CUDA kernels, which lie beside it.
#pragma once
#include <string>

#include "harness/worker/worker.h"

namespace ropewalk::tools {

/// The path of a file in the folder of the command, or where `cmake --install` puts plugins; empty
/// if there is none.
std::string file_beside_command(const std::string& name);

/// The path of ropewalk_cuda.so in the folder of the command, or where `cmake --install` puts it.
/// Empty if there is none, if it is one of `given.plugins`, or if it cannot be taken. Then one line
/// on standard error says SKIPPED and why. It cannot be taken if its own worker does not load it,
/// or if one of the other plugins has a kernel of the same name. One command looks once.
std::string found_plugin(const harness::WorkerOptions& given);

}  // namespace ropewalk::tools
