#include "tools/launches/entrants.h"

#include <algorithm>

#include "base/glob.h"
#include "benchmarks/cells/cells.h"
#include "harness/worker/own_workers.h"
#include "tools/command/session.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;

namespace {

std::string why_not_timed(const KernelFacts& k) {
  const std::string never = why_never_timed(k.memory, k.flags);
  return never.empty() ? k.cannot_run : never;
}

}  // namespace

Entrants entrants_of(const BenchOptions& options) {
  Entrants entrants{worker_options(options), {}};
  const PluginKernels found = kernels_by_plugin(entrants.worker);
  require_kernels(found.kernels, options);
  for (KernelFacts k : found.kernels) {
    const std::string why = why_not_timed(k);
    if (why.empty() || !matches(options.kernels, k.name)) continue;
    k.cannot_run = why;
    entrants.never_timed.push_back(std::move(k));
  }
  std::erase_if(entrants.worker.plugins, [&](const std::string& plugin) {
    return std::none_of(found.kernels.begin(), found.kernels.end(), [&](const KernelFacts& k) {
      return k.plugin == plugin && why_not_timed(k).empty();
    });
  });
  return entrants;
}

}  // namespace ropewalk::tools
