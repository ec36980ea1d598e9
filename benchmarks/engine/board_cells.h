// The cells of a board, made from its plan.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/engine/board.h"
#include "benchmarks/engine/group_memory.h"
#include "benchmarks/engine/process_watch.h"

namespace ropewalk::bench {

/// All cells of a plan, in the order workload, ceiling, kernels.
struct BoardCells {
  std::optional<DeviceModule> module;
  std::vector<std::unique_ptr<GroupMemory>> memories;
  std::vector<std::unique_ptr<Cell>> all;  // destroyed before the others
};

/// Tells what is about to run, if the plan wants to know.
void announce(const BoardPlan& plan, const std::string& label);

BoardCells make_cells(const BoardPlan& plan, ProcessWatch& watch);

}  // namespace ropewalk::bench
