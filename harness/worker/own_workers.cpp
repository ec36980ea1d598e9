#include "harness/worker/own_workers.h"

#include <fmt/format.h>

#include "harness/process/loaded_kernels.h"

namespace ropewalk::harness {
namespace {

void add_kernel(std::vector<KernelFacts>& all, const KernelFacts& facts) {
  for (const KernelFacts& other : all)
    if (other.name == facts.name)
      throw WorkerError(
          fmt::format("plugin {}: {}", facts.plugin, name_is_taken(facts.name, other.plugin)));
  all.push_back(facts);
}

}  // namespace

WorkerOptions with_plugin_alone(WorkerOptions options, const std::string& plugin) {
  options.plugins.clear();
  if (!plugin.empty()) options.plugins.push_back(plugin);
  return options;
}

PluginKernels kernels_by_plugin(const WorkerOptions& options) {
  PluginKernels found;
  const auto add_those_of = [&](const std::string& plugin) {
    Worker worker(with_plugin_alone(options, plugin));
    found.known[plugin] = worker.kernels();
    for (const KernelFacts& facts : worker.kernels())
      if (facts.plugin == plugin) add_kernel(found.kernels, facts);
  };
  add_those_of("");
  for (const std::string& plugin : options.plugins) add_those_of(plugin);
  return found;
}

Worker& OwnWorkers::of(const KernelFacts& kernel) {
  if (worker_ == nullptr || kernel.plugin != plugin_) {
    worker_.reset();
    worker_ = std::make_unique<Worker>(with_plugin_alone(options_, kernel.plugin),
                                       found_.known.at(kernel.plugin));
    plugin_ = kernel.plugin;
  }
  return *worker_;
}

}  // namespace ropewalk::harness
