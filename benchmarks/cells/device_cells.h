// Cells on a device: their calls are captured into a graph, and the events around its launch take
// the time.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "benchmarks/cells/cells.h"
#include "benchmarks/cells/device_sets.h"

namespace ropewalk::bench {

/// The sets of a workload, made when first needed.
class LazyDeviceSets {
 public:
  LazyDeviceSets(const Workload& workload, std::uint64_t seed, const DeviceModule& module)
      : workload_(workload), seed_(seed), module_(module) {}
  const DeviceModule& module() const { return module_; }
  /// Throws StepFailed.
  DeviceSets& here() {
    if (!sets_) sets_.emplace(workload_, seed_, module_);
    return *sets_;
  }

 private:
  const Workload& workload_;
  std::uint64_t seed_;
  const DeviceModule& module_;
  std::optional<DeviceSets> sets_;
};

/// A cell that calls the kernel. `plan` must be supported. All arguments outlive the cell.
std::unique_ptr<Cell> make_device_cell(const rope_kernel& kernel, KernelPlan plan,
                                       const Workload& workload, LazyDeviceSets& sets);
/// The ceiling, with this variant; empty: the best of a short trial, which `variant` is set to.
std::unique_ptr<Cell> make_device_ceiling(const Workload& workload, LazyDeviceSets& sets,
                                          std::string& variant);
/// `floor`, `floor_copy`, or with a kernel, which does nothing, `floor_python`.
std::unique_ptr<Cell> make_device_floor(const Workload& workload, LazyDeviceSets& sets, bool copies,
                                        const rope_kernel* empty = nullptr);

}  // namespace ropewalk::bench
