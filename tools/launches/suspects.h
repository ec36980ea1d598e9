// Whose fault it is where a board's process cannot tell: each suspect in a process of its own.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "tools/command/options.h"
#include "tools/command/session.h"
#include "tools/launches/board_rows.h"

namespace ropewalk::tools {

/// A board's process sent what its own code does not send, or ended and nobody's code ran: `seen`,
/// in words. Any kernel of the scope that is not broken may have done it; those of the tree are
/// taken for innocent beside those of plugins. One suspect is named at once. Several are timed
/// again, each in a process that loads its plugin alone; where none does it again, all are named:
/// none of their numbers can be believed. Returns kernel, and why it is broken; never empty where
/// the scope has a kernel that is not.
std::map<std::string, std::string> culprits(const Options& options, const BoardScope& scope,
                                            const std::string& seen, double silence_limit_s,
                                            Progress& progress);

}  // namespace ropewalk::tools
