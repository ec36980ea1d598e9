// Which program a worker is started from.
#pragma once
#include <string>

namespace ropewalk::harness {

/// The path of the running program, also where no /proc is mounted.
std::string own_executable();

/// What is started as a worker: this program, or what ROPEWALK_WORKER in the environment names (an
/// emulator's wrapper).
std::string worker_executable();

}  // namespace ropewalk::harness
