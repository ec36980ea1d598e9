// The keeper is the parent process of a worker. It runs no kernel, and outlives the worker to end
// every process that descends from it.
#pragma once
#include <string>
#include <string_view>

#include "harness/protocol.h"

namespace ropewalk::harness {

/// Splits this process in two. The call returns in the child, which becomes the worker. This
/// process is the keeper from then on. It notes in `control` which process the worker is, and which
/// signal stopped the worker. It kills the worker on SIGTERM, or when its own parent dies. When the
/// worker is gone, the keeper kills all processes that descend from it. Then it ends the way the
/// worker did.
void continue_under_keeper(protocol::Control& control);

/// Call in a worker that began as another program, which had this process's keeper already.
void stay_under_keeper();

/// Call in the worker. Returns the file that lists the child processes of the keeper, ended ones
/// too. Empty if there is no keeper.
std::string children_file_of_keeper();

/// The number of processes in `children` other than this process. A kernel makes such a process
/// with CLONE_PARENT.
int processes_beside_worker(std::string_view children);

/// The longest time that a keeper tries to end the processes, in seconds of wall time. A process
/// may stay in a system call for seconds.
inline constexpr double keeper_patience_s = 5;

}  // namespace ropewalk::harness
