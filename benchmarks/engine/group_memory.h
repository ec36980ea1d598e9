// Where the buffers of a workload lie, and the cells that work there.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/cells/cells.h"
#include "benchmarks/cells/device_cells.h"
#include "benchmarks/cells/workload_data.h"
#include "harness/device/device_health.h"

namespace ropewalk::bench {

class GroupMemory {
 public:
  /// The workload outlives it.
  explicit GroupMemory(const Workload& workload) : workload_(workload) {}
  virtual ~GroupMemory() = default;
  GroupMemory(const GroupMemory&) = delete;
  GroupMemory& operator=(const GroupMemory&) = delete;

  const Workload& workload() const { return workload_; }
  /// The board of its rows. `table`: the kernels read their angles from a table.
  virtual std::string board(bool table) const { return board_of(workload_, angles(table)); }
  virtual std::unique_ptr<Cell> kernel_cell(const rope_kernel& kernel, KernelPlan plan,
                                            int thread) = 0;
  /// `variant`: the loop that was found to be the fastest; empty: not known.
  virtual std::unique_ptr<Cell> ceiling_cell(const std::string& variant, int thread) = 0;
  /// Cells that show the least time of a call, beside the ceiling.
  virtual std::vector<std::unique_ptr<Cell>> floor_cells() { return {}; }
  /// Tells the device in a row of its boards.
  virtual void name_device(report::TimingRow&) const {}
  /// Has the next round get new inputs.
  virtual void refresh(int thread, std::uint64_t seed) = 0;
  /// About one round of so many does so: 1 unless a working set is large.
  virtual std::uint64_t refreshes_one_in() const = 0;
  virtual bool can_move() const { return false; }
  /// Drops the buffers, whose cells are gone, so that the next cells get others elsewhere. Only if
  /// it can move.
  virtual void place_anew(std::uint64_t) {}
  /// Tells in the rows of a group what the machine was like in its rounds.
  virtual void begin_group() {}
  virtual void end_group(report::TimingRow&) {}

 protected:
  static const char* angles(bool table) { return table ? "table" : "computed"; }
  const Workload& workload_;
};

/// The host's memory, with a set of buffers for each thread.
class HostGroupMemory final : public GroupMemory {
 public:
  HostGroupMemory(const Workload& workload, std::uint64_t seed, int threads);
  std::unique_ptr<Cell> kernel_cell(const rope_kernel& kernel, KernelPlan plan,
                                    int thread) override {
    return make_kernel_cell(kernel, plan, workload_, set(thread));
  }
  std::unique_ptr<Cell> ceiling_cell(const std::string& variant, int thread) override;
  void refresh(int thread, std::uint64_t seed) override { set(thread).here().refresh(seed); }
  std::uint64_t refreshes_one_in() const override;
  bool can_move() const override;
  void place_anew(std::uint64_t random) override;

 private:
  LazyData& set(int thread) { return sets_[static_cast<std::size_t>(thread)]; }
  std::deque<LazyData> sets_;
  AlignedBytes before_;  ///< moves the buffers that the heap places behind it
};

/// The memory of a device, which has one set of buffers or many (device_sets.h).
class DeviceGroupMemory final : public GroupMemory {
 public:
  /// The module outlives it.
  DeviceGroupMemory(const Workload& workload, std::uint64_t seed, const DeviceModule& module)
      : GroupMemory(workload), sets_(workload, seed, module) {}
  std::string board(bool table) const override {
    return GroupMemory::board(table) + std::string(device_board);
  }
  std::unique_ptr<Cell> kernel_cell(const rope_kernel& kernel, KernelPlan plan, int) override {
    return make_device_cell(kernel, plan, workload_, sets_);
  }
  std::unique_ptr<Cell> ceiling_cell(const std::string& variant, int thread) override;
  std::vector<std::unique_ptr<Cell>> floor_cells() override;
  void name_device(report::TimingRow& row) const override { row.device = sets_.module().facts(); }
  void refresh(int, std::uint64_t) override {}  // inputs are new before each epoch
  std::uint64_t refreshes_one_in() const override { return 1; }
  void begin_group() override { before_ = sets_.module().device().health().now(); }
  void end_group(report::TimingRow& row) override;

 private:
  LazyDeviceSets sets_;
  harness::DeviceHealth::Now before_;
  std::string ceiling_variant_;
};

}  // namespace ropewalk::bench
