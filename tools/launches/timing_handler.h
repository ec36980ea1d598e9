// The worker's side of bench.
#pragma once
#include "harness/worker/worker_main.h"

namespace ropewalk::tools {

/// What a worker does when its parent tells it to time a board.
harness::TimingHandler timing_handler();

}  // namespace ropewalk::tools
