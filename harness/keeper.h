// The keeper is the parent process of a worker. It runs no kernel, and outlives the worker to end
// every process that descends from it.
#pragma once
#include "harness/protocol.h"

namespace ropewalk {

/// Splits this process in two. The call returns in the child, which becomes the worker. This
/// process is the keeper from then on. It notes in `control` which process the worker is, and what
/// stopped it. It kills the worker on SIGTERM, or when its own parent dies. When the worker is
/// gone, the keeper kills all that descends from it, and ends the way the worker did.
void continue_under_keeper(protocol::Control& control);

/// Child processes of the keeper beside the worker, ended ones too; 0 where there is no keeper, or
/// the system does not tell. A kernel makes one with CLONE_PARENT.
int processes_beside_worker();

/// So long a keeper tries at most: a process may sit in the system for seconds.
inline constexpr double keeper_patience_s = 5;

}  // namespace ropewalk
