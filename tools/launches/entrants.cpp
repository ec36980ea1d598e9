#include "tools/launches/entrants.h"

#include <algorithm>
#include <string_view>

#include "base/glob.h"
#include "benchmarks/cells/cells.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/machine/environment.h"
#include "harness/worker/own_workers.h"
#include "tools/command/session.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace properties;

namespace {

// What is written to be read, or differs little from what is timed. They would take most of the
// minute of smoke.
constexpr std::string_view from_standard[] = {
    "clang_complex", "complex", "dense", "elementwise", "gcc_complex", "phase", "plain_f32_angle"};

}  // namespace

std::string why_not_timed(const BenchOptions& options, const KernelFacts& k) {
  if (const std::string never = why_never_timed(k.flags); !never.empty()) return never;
  const bool is_left_out = options.profile == Profile::smoke && options.kernels.empty() &&
                           std::ranges::find(from_standard, k.name) != std::end(from_standard);
  return is_left_out && k.cannot_run.empty() ? std::string(timed_from_standard) : k.cannot_run;
}

Entrants entrants_of(const BenchOptions& options) {
  Entrants entrants;
  const WorkerOptions given = worker_options(options);
  const PluginKernels found = kernels_by_plugin(given);
  require_kernels(found.kernels, options);
  const auto takes = [&](const KernelFacts& k, std::int32_t memory) {
    return matches(options.kernels, k.name) && why_not_timed(options, k).empty() &&
           k.memory == memory;
  };
  for (KernelFacts k : found.kernels) {
    if (!matches(options.kernels, k.name)) continue;
    k.cannot_run = why_not_timed(options, k);
    if (k.cannot_run.empty() && options.google_benchmark &&
        (k.memory == ROPE_CUDA || has_own_threads(k.exceptions)))
      k.cannot_run = "only the paired engine times kernels of a device, or with threads";
    if (k.cannot_run.empty())
      entrants.workers[k.memory] = given;
    else
      entrants.never_timed.push_back(std::move(k));
  }
  if (entrants.workers.empty()) entrants.workers[ROPE_HOST] = given;
  // Its pool gets as many processors as others get threads.
  if (const auto host = entrants.workers.find(ROPE_HOST); host != entrants.workers.end())
    for (const KernelFacts& k : found.kernels)
      if (takes(k, ROPE_HOST) && has_own_threads(k.exceptions))
        host->second.processors = processors_for(options.threads, allowed_cpus());
  for (auto& [memory, worker] : entrants.workers) {
    worker.with_device = memory == ROPE_CUDA;
    std::erase_if(worker.plugins, [&, there = memory](const std::string& plugin) {
      return std::none_of(found.kernels.begin(), found.kernels.end(), [&](const KernelFacts& k) {
        return k.plugin == plugin && k.memory == there && why_not_timed(options, k).empty();
      });
    });
  }
  return entrants;
}

}  // namespace ropewalk::tools
