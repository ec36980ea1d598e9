#include "tools/launches/timing_handler.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "benchmarks/engine/board.h"
#include "benchmarks/engine/paired.h"
#include "tools/launches/board_request.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace report;
namespace {

PairedPlan paired_plan(const BoardRequest& request, const BoardPlan& board) {
  PairedPlan plan;
  plan.workloads = board.workloads;
  plan.contestants = board.contestants;
  plan.on_row = board.on_row;
  plan.now_running = board.now_running;
  plan.device = board.device;
  plan.seed = request.seed;
  plan.rounds = request.rounds;
  plan.launch = request.launch;
  plan.epoch_s = 1e-6 * static_cast<double>(request.epoch_us);
  plan.launch_s = 1e-3 * static_cast<double>(request.launch_ms);
  plan.epochs_s = request.epochs_s;
  plan.group_s = 1e-3 * static_cast<double>(request.group_ms);
  plan.threads = static_cast<int>(request.threads);
  plan.baseline = request.baseline;
  plan.ceilings = request.ceilings;
  plan.done = request.done;
  return plan;
}

}  // namespace

TimingHandler timing_handler() {
  return [](const std::string& text, const std::vector<const rope_kernel*>& kernels, Device* device,
            const TimingSinks& sinks) {
    const BoardRequest request = board_request_from(text);
    BoardPlan plan;
    plan.device = device;
    plan.seed = request.seed;
    plan.quick = request.quick;
    plan.silent = request.silent;
    plan.benchmark_args = request.benchmark_args;
    plan.workloads = request.workloads;
    for (const auto& [name, broken] : request.contestants) {
      const auto found = std::find_if(kernels.begin(), kernels.end(),
                                      [&, n = name](const rope_kernel* k) { return n == k->name; });
      if (found == kernels.end()) throw std::runtime_error("the board has no kernel " + name);
      const char* summary = (*found)->summary;
      Contestant c{*found, name, summary == nullptr ? "" : summary, broken, {}};
      for (const auto& [kernel, workload] : request.unverified)
        if (kernel == name) c.unverified.insert(workload);
      plan.contestants.push_back(std::move(c));
    }
    plan.on_row = [&](const TimingRow& row) { sinks.row(to_json_line(row)); };
    plan.now_running = sinks.now_running;
    plan.show = sinks.show;
    if (request.engine == Engine::gbench) return run_board(plan);
    const PairedPlan paired = paired_plan(request, plan);
    return request.ceilings_only ? pick_ceilings(paired) : run_paired(paired);
  };
}

}  // namespace ropewalk::tools
