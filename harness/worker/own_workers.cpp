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
  options.with_device = false;
  return options;
}

WorkerOptions options_for(WorkerOptions options, const KernelFacts& kernel) {
  options = with_plugin_alone(std::move(options), kernel.plugin);
  options.with_device = kernel.memory == ROPE_CUDA;
  return options;
}

PluginKernels kernels_by_plugin(const WorkerOptions& options) {
  PluginKernels found;
  const auto add_those_of = [&](const std::string& plugin) {
    KernelFacts any;  // a worker opens a device only if a kernel of the plugin needs one
    any.plugin = plugin;
    any.memory = ROPE_CUDA;
    Worker worker(options_for(options, any));
    found.known[plugin] = worker.kernels();
    for (const KernelFacts& facts : worker.kernels())
      if (facts.plugin == plugin) add_kernel(found.kernels, facts);
  };
  add_those_of("");
  for (const std::string& plugin : options.plugins) add_those_of(plugin);
  return found;
}

Worker& OwnWorkers::of(const KernelFacts& kernel) {
  if (worker_ == nullptr || kernel.plugin != plugin_ || kernel.memory != memory_) {
    worker_.reset();
    worker_ =
        std::make_unique<Worker>(options_for(options_, kernel), found_.known.at(kernel.plugin));
    plugin_ = kernel.plugin;
    memory_ = kernel.memory;
  }
  return *worker_;
}

}  // namespace ropewalk::harness
