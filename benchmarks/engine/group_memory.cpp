#include "benchmarks/engine/epochs.h"

#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {

HostGroupMemory::HostGroupMemory(const Workload& workload, std::uint64_t seed, int threads)
    : GroupMemory(workload) {
  for (int i = 0; i < threads; ++i)
    sets_.emplace_back(workload, seed + static_cast<std::uint64_t>(i));
}

std::unique_ptr<Cell> HostGroupMemory::ceiling_cell(const std::string& variant, int thread) {
  return make_ceiling_cell(workload_, set(thread), variant);
}

// Giving more buffers their inputs takes longer than an epoch, and far more than a call.
std::uint64_t HostGroupMemory::refreshes_one_in() const {
  constexpr std::int64_t up_to_bytes = std::int64_t{2} << 20;
  if (ceiling_working_set_bytes(workload_) <= up_to_bytes) return 1;
  return can_move() ? 8 : 16;
}

// The C library places buffers that are larger at one offset in pages of their own.
bool HostGroupMemory::can_move() const {
  constexpr std::int64_t up_to_bytes = std::int64_t{32} << 20;
  return ceiling_working_set_bytes(workload_) <= up_to_bytes;
}

void HostGroupMemory::place_anew(std::uint64_t random) {
  constexpr std::int64_t step = 64, steps = 1024;
  for (LazyData& set : sets_) set.drop();
  before_ = AlignedBytes(static_cast<std::int64_t>(random % steps) * step);
}

// Other variants are for other devices, so what was found in another process says nothing.
std::unique_ptr<Cell> DeviceGroupMemory::ceiling_cell(const std::string&, int) {
  return make_device_ceiling(workload_, sets_, ceiling_variant_);
}

std::vector<std::unique_ptr<Cell>> DeviceGroupMemory::floor_cells() {
  std::vector<std::unique_ptr<Cell>> cells;
  cells.push_back(make_device_floor(workload_, sets_, false));
  if (has_floor_copy(workload_)) cells.push_back(make_device_floor(workload_, sets_, true));
  const auto* const python = harness::script_host;
  if (const rope_kernel* empty = python != nullptr ? python->floor() : nullptr)
    cells.push_back(make_device_floor(workload_, sets_, false, empty));
  return cells;
}

void DeviceGroupMemory::end_group(report::TimingRow& row) {
  const harness::DeviceHealth::Now now = sets_.module().device().health().now();
  row.sm_mhz_before = before_.sm_mhz;
  row.sm_mhz_after = now.sm_mhz;
  row.throttled = now.throttled;
}

}  // namespace ropewalk::bench
