#include "tools/launches/kernels_to_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/glob.h"
#include "benchmarks/cells/cells.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/machine/environment.h"
#include "benchmarks/machine/probes.h"
#include "benchmarks/workloads/traffic.h"
#include "harness/worker/own_workers.h"
#include "reports/numbers/ratio_interval.h"
#include "tools/command/session.h"
#include "tools/launches/board.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace properties;
using namespace report;
namespace {

// Far slower than the others, or nearly the same as one of them: too much for a minute of smoke.
constexpr std::string_view from_standard[] = {"clang_complex", "dense", "gcc_complex", "phase",
                                              "plain_f32_angle"};

/// What a workload takes at least, in s: the calls of its ceilings, and those of a baseline, its
/// twin and the ceiling in the fewest launches that a claim needs, none faster than memory. 0 for
/// what caches may hold.
double least_s(const Workload& workload, double bytes_per_s) {
  constexpr std::int64_t loops = 8, rounds = 6, contestants = 3, held = std::int64_t{64} << 20;
  if (ceiling_working_set_bytes(workload) <= held) return 0;
  const double call_s = static_cast<double>(traffic_bytes(workload, false)) / bytes_per_s;
  return call_s * static_cast<double>(rounds * (loops + least_launches * contestants));
}

}  // namespace

std::string why_not_timed(const BenchOptions& options, const KernelFacts& k) {
  if (const std::string never = why_never_timed(k.flags); !never.empty()) return never;
  if (!k.cannot_run.empty() || options.profile != Profile::smoke || !options.kernels.empty())
    return k.cannot_run;
  const bool is_timed = std::ranges::find(from_standard, k.name) == std::end(from_standard);
  return is_timed ? "" : "timed from the profile standard on, or with --kernel";
}

KernelsToTime kernels_to_time(const BenchOptions& options) {
  KernelsToTime out;
  const WorkerOptions given = worker_options(options);
  std::vector<KernelFacts> found = kernels_by_plugin(given).kernels, timed;
  require_kernels(found, options);
  for (KernelFacts& k : found) {
    if (!matches(options.kernels, k.name)) continue;
    k.cannot_run = why_not_timed(options, k);
    if (k.cannot_run.empty() && options.google_benchmark &&
        (k.memory == ROPE_CUDA || has_own_threads(k.exceptions)))
      k.cannot_run = "only the paired engine times kernels of a device, or with threads";
    (k.cannot_run.empty() ? timed : out.never_timed).push_back(k);
  }
  out.workers[timed.empty() ? ROPE_HOST : timed.front().memory] = given;
  for (const KernelFacts& k : timed) {
    WorkerOptions& worker = out.workers.try_emplace(k.memory, given).first->second;
    // Its pool gets as many processors as others get threads.
    if (k.memory == ROPE_HOST && has_own_threads(k.exceptions))
      worker.processors = processors_for(options.threads, allowed_cpus());
  }
  for (auto& [memory, worker] : out.workers) {
    worker.with_device = memory == ROPE_CUDA;
    std::erase_if(worker.plugins, [&, there = memory](const std::string& plugin) {
      return std::ranges::none_of(
          timed, [&](const KernelFacts& k) { return k.plugin == plugin && k.memory == there; });
    });
  }
  return out;
}

std::vector<TimingRow> leave_out(std::vector<Workload>& workloads,
                                 const std::vector<KernelFacts>& kernels, Budget& budget) {
  std::vector<TimingRow> rows;
  const bool any_on_host = std::ranges::count(kernels, ROPE_HOST, &KernelFacts::memory) > 0;
  if (!budget.is_given() || !any_on_host || workloads.empty() || budget.left_s() <= 0) return rows;
  const double bytes_per_s = copied_bytes_per_s();
  const auto cost_s = [&](const Workload& w) { return least_s(w, bytes_per_s); };
  double all_s = 0;
  for (const Workload& w : workloads) all_s += cost_s(w);
  while (all_s > budget.left_s()) {
    const auto costliest = std::ranges::max_element(
        workloads, [&](const auto& a, const auto& b) { return cost_s(a) < cost_s(b); });
    const double s = cost_s(*costliest);
    const std::string takes =
        fmt::format("{} takes {:.0f} s at least", costliest->name, std::ceil(s));
    if (workloads.size() == 1) {
      budget.refuse(takes, least_launches * s);
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

void take_numbers_away(TimingRow& row, Outcome outcome, const std::string& why) {
  row.outcome = outcome;
  row.reason = why;
  row.ns_per_token.clear();
  row.iterations.clear();
  row.probe_ns.clear();
  row.ns_per_token_median = row.gb_per_s_median = 0;
  row.involuntary_switches = row.page_faults = row.reverified = 0;
  row.host_ns_per_token = row.off_cpu_share = row.steal_ms = 0;
}

void skip_groups(const std::set<std::string>& groups, std::vector<TimingRow>& rows) {
  std::map<std::string, std::set<std::int64_t>> launches;
  for (const TimingRow& row : rows) launches[group_of(row)].insert(row.launch);
  const auto is_left_out = [&](const TimingRow& row) {
    return groups.contains(group_of(row)) && std::ssize(launches[group_of(row)]) < least_launches;
  };
  std::erase_if(rows, [&](const TimingRow& row) {
    return is_left_out(row) && (row.is_reference() || row.is_twin());
  });
  for (TimingRow& row : rows)
    if (is_left_out(row) && row.outcome == Outcome::measured)
      take_numbers_away(row, Outcome::skipped, "no time for three launches beside other groups");
}

}  // namespace ropewalk::tools
