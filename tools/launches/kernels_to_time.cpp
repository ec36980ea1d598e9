#include "tools/launches/kernels_to_time.h"

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

// Far slower than the others, or nearly the same as one of them: too much for a minute of smoke.
constexpr std::string_view from_standard[] = {"clang_complex", "dense", "gcc_complex", "phase",
                                              "plain_f32_angle"};

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
      return std::none_of(timed.begin(), timed.end(), [&](const KernelFacts& k) {
        return k.plugin == plugin && k.memory == there;
      });
    });
  }
  return out;
}

}  // namespace ropewalk::tools
