// Finds the program from which a worker is started.
#pragma once
#include <string>

namespace ropewalk::harness {

/// The path of the running program. It is found even if /proc is not mounted.
std::string own_executable();

/// The program to start as a worker: this program, or the value of ROPEWALK_WORKER in the
/// environment (for an emulator's wrapper).
std::string worker_executable();

}  // namespace ropewalk::harness
