// Finds the kernel at fault if a board's process cannot tell, by giving each suspect a process of
// its own.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "tools/command/options.h"
#include "tools/command/session.h"
#include "tools/launches/board_rows.h"

namespace ropewalk::tools {

/// A board's process sent what its own code does not send, or ended while no kernel's code ran.
/// `seen` describes that in words. Any kernel of the scope that is not broken may be at fault. If
/// plugins are among them, kernels of the tree count as innocent. A single suspect is named at
/// once. Several suspects are timed again, each in a process that loads its plugin alone. If none
/// repeats it, all are named, because none of their numbers can be trusted. Returns each kernel
/// with the reason why it is broken. It is never empty if the scope has a kernel that is not
/// broken.
std::map<std::string, std::string> culprits(const BenchOptions& options, const BoardScope& scope,
                                            const std::string& seen, double silence_limit_s,
                                            Progress& progress);

}  // namespace ropewalk::tools
