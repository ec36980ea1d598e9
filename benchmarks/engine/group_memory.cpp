#include "benchmarks/engine/group_memory.h"

#include "benchmarks/cells/ceiling_cell.h"
#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {

HostGroupMemory::HostGroupMemory(const Workload& workload, std::uint64_t seed, int threads)
    : GroupMemory(workload) {
  for (int i = 0; i < threads; ++i)
    sets_.emplace_back(workload, seed + static_cast<std::uint64_t>(i));
}

std::unique_ptr<Cell> HostGroupMemory::kernel_cell(const rope_kernel& kernel, KernelPlan plan,
                                                   int thread) {
  return make_kernel_cell(kernel, plan, workload_, set(thread));
}

std::unique_ptr<Cell> HostGroupMemory::ceiling_cell(const std::string& variant, int thread) {
  return make_ceiling_cell(workload_, set(thread), variant);
}

bool HostGroupMemory::refreshes_always() const {
  constexpr std::int64_t up_to_bytes = std::int64_t{32} << 20;
  return ceiling_working_set_bytes(workload_) <= up_to_bytes;
}

}  // namespace ropewalk::bench
