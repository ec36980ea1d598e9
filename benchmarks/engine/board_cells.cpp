#include "benchmarks/engine/board_cells.h"

#include <utility>

namespace ropewalk::bench {

void announce(const BoardPlan& plan, const std::string& label) {
  if (plan.now_running) plan.now_running(label);
}

namespace {

/// Adds those of the kernels of a device, or those of the host's.
void add_cells(const BoardPlan& plan, const Workload& workload, bool on_device, BoardCells& cells,
               ProcessWatch& watch) {
  std::unique_ptr<GroupMemory> memory;
  if (!on_device)
    memory = std::make_unique<HostGroupMemory>(workload, plan.seed, 1);
  else if (cells.module)
    memory = std::make_unique<DeviceGroupMemory>(workload, plan.seed, *cells.module);
  else
    return;
  std::vector<std::unique_ptr<Cell>> contestants;
  for (const Contestant& contestant : plan.contestants) {
    if (is_on_device(contestant) != on_device) continue;
    announce(plan, contestant.name + "|" + workload.name);
    watch.about(contestant.kernel);
    const KernelPlan kernel_plan = plan_of(contestant, workload);
    watch.check("supports");
    if (!kernel_plan.supported) continue;
    const auto refusal = refusal_of(contestant, workload);
    auto cell = refusal ? make_refused_cell(*refusal, kernel_plan, workload)
                        : memory->kernel_cell(*contestant.kernel, kernel_plan, 0);
    cell->row.board = memory->board(kernel_plan.table);
    memory->name_device(cell->row);
    cell->row.kernel = contestant.name;
    cell->row.summary = contestant.summary;
    contestants.push_back(std::move(cell));
  }
  if (contestants.empty()) return;
  cells.all.push_back(memory->ceiling_cell({}, 0));
  for (auto& cell : contestants) cells.all.push_back(std::move(cell));
  cells.memories.push_back(std::move(memory));
}

}  // namespace

BoardCells make_cells(const BoardPlan& plan, ProcessWatch& watch) {
  BoardCells cells;
  if (plan.device != nullptr) cells.module.emplace(*plan.device);
  for (const Workload& workload : plan.workloads)
    for (const bool on_device : {false, true}) add_cells(plan, workload, on_device, cells, watch);
  announce(plan, "");
  return cells;
}

}  // namespace ropewalk::bench
