// Gives each plugin a worker of its own. What one plugin does to its process is then not blamed on
// kernels of another plugin or of the tree.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/worker/worker.h"

namespace ropewalk::harness {

/// The same options with only this plugin and no device; empty: with no plugin.
WorkerOptions with_plugin_alone(WorkerOptions options, const std::string& plugin);
/// The same options with only the plugin of this kernel, if it has one. No host kernel is run in a
/// process with the driver of a device.
WorkerOptions options_for(WorkerOptions options, const KernelFacts& kernel);

struct PluginKernels {
  std::vector<KernelFacts> kernels;
  std::map<std::string, std::vector<KernelFacts>> known;  ///< per plugin, all kernels of its worker
};

/// The tree's kernels, then those of each plugin. A worker with that plugin alone describes each.
/// Throws WorkerError if a plugin cannot be loaded, or if two kernels have the same name.
PluginKernels kernels_by_plugin(const WorkerOptions& options);

/// Runs those workers, one process at a time.
class OwnWorkers {
 public:
  OwnWorkers(WorkerOptions options, PluginKernels found)
      : options_(std::move(options)), found_(std::move(found)) {}

  /// The worker of a kernel. The kernel's index is its index in that worker.
  Worker& of(const KernelFacts& kernel);

 private:
  WorkerOptions options_;
  PluginKernels found_;
  std::unique_ptr<Worker> worker_;
  std::string plugin_;
  std::int32_t memory_ = ROPE_HOST;
};

}  // namespace ropewalk::harness
