#include "tools/launches/timing_handler.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "benchmarks/engine/google_benchmark.h"
#include "benchmarks/engine/paired.h"
#include "tools/launches/board_request.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace report;
namespace {

std::vector<Candidate> candidates_of(const BoardRequest& request,
                                     const std::vector<const rope_kernel*>& kernels) {
  std::vector<Candidate> timed;
  for (const auto& [name, broken] : request.kernels) {
    const auto found =
        std::ranges::find_if(kernels, [&, n = name](const rope_kernel* k) { return n == k->name; });
    if (found == kernels.end()) throw std::runtime_error("the board has no kernel " + name);
    const char* summary = (*found)->summary;
    Candidate c{*found, name, summary == nullptr ? "" : summary, broken, {}};
    for (const auto& [kernel, workload] : request.unverified)
      if (kernel == name) c.unverified.insert(workload);
    timed.push_back(std::move(c));
  }
  return timed;
}

}  // namespace

TimingHandler timing_handler() {
  return [](const std::string& text, const std::vector<const rope_kernel*>& kernels, Device* device,
            const TimingSinks& sinks) {
    const BoardRequest request = board_request_from(text);
    const std::vector<Candidate> timed = candidates_of(request, kernels);
    if (request.google_benchmark)
      return run_google_benchmark({request.workloads, timed, request.benchmark_args, request.seed,
                                   sinks.now_running, sinks.show});
    PairedPlan plan{request, timed, device, {}, sinks.now_running};
    plan.on_row = [&](const TimingRow& row) { sinks.row(to_json_line(row)); };
    return request.ceilings_only ? pick_ceilings(plan) : run_paired(plan);
  };
}

}  // namespace ropewalk::tools
