// The keeper is the parent process of a worker. It runs no kernel, and outlives the worker to end
// every process that descends from it.
#pragma once
#include <string>
#include <string_view>

#include "harness/protocol.h"

namespace ropewalk::harness {

/// Splits this process in two. The call returns in the child, which becomes the worker. This
/// process is the keeper from then on. It notes in `control` which process the worker is, and what
/// stopped it. It kills the worker on SIGTERM, or when its own parent dies. When the worker is
/// gone, the keeper kills all that descends from it, and ends the way the worker did.
void continue_under_keeper(protocol::Control& control);

/// In the worker: the file that lists the child processes of the keeper, ended ones too; empty
/// where there is no keeper.
std::string children_file_of_keeper();

/// How many of them are others than this process: a kernel makes one with CLONE_PARENT.
int processes_beside_worker(std::string_view children);

/// So long a keeper tries at most: a process may sit in the system for seconds.
inline constexpr double keeper_patience_s = 5;

}  // namespace ropewalk::harness
