// A worker for each plugin: what one plugin does to its process is no fault of another one's
// kernels, nor of the tree's.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/worker/worker.h"

namespace ropewalk::harness {

/// The same options with this plugin and no other; empty: without any.
WorkerOptions with_plugin_alone(WorkerOptions options, const std::string& plugin);

struct PluginKernels {
  std::vector<KernelFacts> kernels;
  std::map<std::string, std::vector<KernelFacts>> known;  ///< by plugin: all of its worker
};

/// The tree's kernels, then those of each plugin, each as a worker with that plugin alone describes
/// it. Throws WorkerError where a plugin cannot be loaded, and where two have a kernel's name.
PluginKernels kernels_by_plugin(const WorkerOptions& options);

/// Those workers, one process at a time.
class OwnWorkers {
 public:
  OwnWorkers(WorkerOptions options, PluginKernels found)
      : options_(std::move(options)), found_(std::move(found)) {}

  /// The worker of a kernel that was found, which has the index there that it says.
  Worker& of(const KernelFacts& kernel);

 private:
  WorkerOptions options_;
  PluginKernels found_;
  std::unique_ptr<Worker> worker_;
  std::string plugin_;
};

}  // namespace ropewalk::harness
