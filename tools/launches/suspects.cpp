#include "tools/launches/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace ropewalk::tools {
using namespace harness;
using namespace report;
namespace {

std::vector<KernelFacts> suspects_of(const BoardScope& scope) {
  std::vector<KernelFacts> all, plugins;
  for (const KernelFacts& k : scope.kernels) {
    const auto contestant = scope.request.contestants.find(k.name);
    if (contestant == scope.request.contestants.end() || !contestant->second.empty()) continue;
    all.push_back(k);
    if (!k.plugin.empty()) plugins.push_back(k);
  }
  return plugins.empty() ? all : plugins;
}

/// What the kernel does to a process of its own; empty if nothing.
std::string seen_alone(const BenchOptions& options, const BoardScope& scope,
                       const KernelFacts& kernel, double silence_limit_s, Progress& progress) {
  WorkerOptions alone = worker_options(options);
  std::erase_if(alone.plugins, [&](const std::string& plugin) { return plugin != kernel.plugin; });
  BoardRequest request = scope.request;
  std::erase_if(request.contestants, [&](const auto& c) { return c.first != kernel.name; });
  request.silent = true;
  try {
    Worker worker(alone);
    const std::vector<KernelFacts> facts{kernel};
    BoardRows rows({request, scope.workloads, facts}, [](const TimingRow&) {});
    const auto start = std::chrono::steady_clock::now();
    const Worker::TimeResult timed = worker.time(
        to_text(request), silence_limit_s,
        {[&](const std::string& json) {
           const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
           return rows.take(json, wall.count());
         },
         [&](const std::string& label) {
           progress.show("timing alone, to find the kernel at fault: " + label);
         },
         [](const std::string&, bool) {}});
    progress.clear();
    if (timed.result.kind != CallResult::Kind::ok) return timed.result.text;
    return rows.finish();
  } catch (const WorkerError& failure) {
    return failure.what();
  }
}

}  // namespace

std::map<std::string, std::string> culprits(const BenchOptions& options, const BoardScope& scope,
                                            const std::string& seen, double silence_limit_s,
                                            Progress& progress) {
  const std::vector<KernelFacts> suspects = suspects_of(scope);
  std::map<std::string, std::string> out;
  if (suspects.size() == 1) {
    out[suspects.front().name] = "its process " + seen + " while it was timed";
    return out;
  }
  for (const KernelFacts& k : suspects)
    if (const std::string alone = seen_alone(options, scope, k, silence_limit_s, progress);
        !alone.empty())
      out[k.name] = "its process " + alone + " while only this kernel was timed";
  if (!out.empty()) return out;
  std::string names;
  for (const KernelFacts& k : suspects) names += (names.empty() ? "" : ", ") + k.name;
  for (const KernelFacts& k : suspects)
    out[k.name] = fmt::format(
        "the process that timed it {}; none of {} did so alone, so the kernel at fault is not "
        "known",
        seen, names);
  return out;
}

}  // namespace ropewalk::tools
