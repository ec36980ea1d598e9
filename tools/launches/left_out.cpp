#include "tools/launches/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "benchmarks/cells/cells.h"
#include "benchmarks/machine/probes.h"
#include "benchmarks/workloads/traffic.h"
#include "reports/numbers/ratio_interval.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace report;
namespace {

/// What a workload takes at least, in s: the calls of its ceilings, and those of so many kernels in
/// the fewest launches that a claim needs, none faster than memory.
double least_s(const Workload& workload, std::int64_t kernels, double bytes_per_s) {
  constexpr std::int64_t loops = 8, rounds = 6;
  const double call_s = static_cast<double>(traffic_bytes(workload, false)) / bytes_per_s;
  return call_s * static_cast<double>(rounds * (loops + least_launches * (kernels + 1)));
}

}  // namespace

std::vector<TimingRow> leave_out(std::vector<Workload>& workloads,
                                 const std::vector<KernelFacts>& kernels, Budget& budget) {
  std::vector<TimingRow> rows;
  if (!budget.is_given()) return rows;
  const double bytes_per_s = copied_bytes_per_s();
  const auto cost_s = [&](const Workload& w) {
    return least_s(w, std::ssize(kernels), bytes_per_s);
  };
  double all_s = 0;
  for (const Workload& w : workloads) all_s += cost_s(w);
  while (all_s > budget.left_s()) {
    const auto costliest =
        std::max_element(workloads.begin(), workloads.end(),
                         [&](const auto& a, const auto& b) { return cost_s(a) < cost_s(b); });
    const double s = cost_s(*costliest);
    const std::string takes =
        fmt::format("{} takes {:.0f} s at least", costliest->name, std::ceil(s));
    if (workloads.size() == 1) {
      budget.refuse(takes);
      break;
    }
    for (const KernelFacts& k : kernels) {
      TimingRow& row =
          rows.emplace_back(known_row(*costliest, k.angle_contract == ROPE_CONTRACT_TABLE));
      if (k.memory == ROPE_CUDA) row.board += device_board;
      row.kernel = k.name;
      row.summary = k.summary;
      row.outcome = Outcome::skipped;
      row.reason = "no time: " + takes;
    }
    all_s -= s;
    workloads.erase(costliest);
  }
  return rows;
}

}  // namespace ropewalk::tools
