// What a kernel does after its calls, and between them.
#pragma once
#include <cstdint>

#include "benchmarks/engine/crew.h"
#include "benchmarks/engine/epochs.h"
#include "benchmarks/engine/process_watch.h"

namespace ropewalk::bench {

/// True for a kernel with threads, its own or its plugin's. A thread that loading began may rest in
/// every call, so its kernel need not declare it.
bool may_hide_work(const Contestant& e);

/// Whether the outputs of an epoch stay as its last call left them. Otherwise it has a refusal.
/// Without `refill` the calls begin with what the buffers hold.
bool rests_after_calls(Contestant& e, Crew& crew, ProcessWatch& watch, bool refill,
                       std::uint64_t random);

/// Of a kernel that may hide work: whether a call takes as long after a pause if its inputs are
/// there before it as if they come after it. Otherwise its threads work between calls, and it has a
/// refusal. Notes in its row what the threads used meanwhile. True for other kernels.
bool rests_between_calls(Contestant& e, Contestant& baseline, Crew& crew, ProcessWatch& watch,
                         std::uint64_t random);

}  // namespace ropewalk::bench
