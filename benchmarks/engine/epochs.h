// The rounds of one group: how many calls each contestant makes, and each epoch from fresh inputs
// to the judge.
#pragma once
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/cells/cells.h"
#include "benchmarks/cells/device_cells.h"
#include "benchmarks/cells/workload_data.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/engine/paired.h"
#include "harness/device/device.h"
#include "harness/watch/kernel_watch.h"
#include "reference/oracle.h"

namespace ropewalk::bench {

/// Finds what a timed kernel may not do to the process in which others are timed too. It may not
/// run another thread or process, allocate, map memory, print, or change signals, descriptors or
/// the locale, but for its exceptions (rope_kernel.h).
///
/// Each look comes right after the code of one kernel and compares the whole state. It throws
/// std::runtime_error if something changed. Nothing may be timed in the process after that.
class ProcessWatch : public harness::KernelWatch {
 public:
  explicit ProcessWatch(bool has_driver = false) : KernelWatch(has_driver) {}
  /// Call it just before the kernel is timed.
  void begin() {
    begin_alone();
    count(-1);
  }
  /// Call it just after. `refused`: a call failed, and the harness has allocated memory to report
  /// it.
  void end(bool refused) {
    count(1);
    harness::Deeds done;
    const std::string allocated = end_alone(done);
    if (!refused) done.add(ROPE_ALLOCATES, allocated);
    compare("", std::move(done));
  }
  /// What a kernel with ROPE_ALLOCATES did between the two: calls of the allocator, and bytes by
  /// which the mapped memory grew. 0 for other kernels.
  std::int64_t heap_calls() const {
    return may_allocate() ? static_cast<std::int64_t>(harness::heap_calls()) : 0;
  }
  std::int64_t mapped_bytes() const { return may_allocate() ? process_.mapped_bytes() : 0; }
  /// Of all threads of the process.
  std::int64_t page_faults() const { return faults_; }
  std::int64_t switches() const { return switches_; }

  /// Call it after functions of a kernel outside of begin() and end(), such as supports, unless
  /// they may print: then call accept_output() before.
  void check(const std::string& entry) { compare(entry + " ", {}); }

 private:
  bool may_allocate() const { return (allowed_ & ROPE_ALLOCATES) != 0 && !has_driver_; }
  // Taken from what the counters of the process say at the end, and before at the begin.
  void count(int sign) {
    rusage u{};
    if (!has_driver_) getrusage(RUSAGE_SELF, &u);
    if (sign < 0) faults_ = switches_ = 0;
    faults_ += sign * (u.ru_minflt + u.ru_majflt);
    switches_ += sign * (u.ru_nvcsw + u.ru_nivcsw);
  }
  void compare(const std::string& what_ran, harness::Deeds done) {
    end_copy();
    const harness::Deeds left = changes("", true);
    done.add_all("", left);
    done.add(ROPE_PRINTS, output_.written());
    const std::string beyond = done.beyond(allowed_);
    if (!beyond.empty()) throw std::runtime_error(what_ran + beyond);
    if (!left.empty()) process_.accept();
  }

  std::int64_t faults_ = 0, switches_ = 0;
};

/// Where the buffers of a workload lie, and the cells that work there.
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

/// A contestant of the group: a kernel, twin or ceiling that is timed, or was to be timed.
struct Contestant {
  std::vector<std::unique_ptr<Cell>> cells;  ///< one cell a thread; the first has the row
  /// Name of the kernel, also for a twin; empty for a ceiling.
  std::string owner;
  bool has_own_threads = false;  ///< one caller makes the calls of all cells
  double call_s = 0;             ///< estimated time of a settled call, in s; 0: not known yet
  std::int64_t calls = 1;        ///< calls in one epoch
  struct WarmUp {
    std::int64_t calls;
    double call_s;
  };
  std::vector<WarmUp> warm_ups;  ///< the calls before the rounds, in their order
  bool began_slowly = false;     ///< its slow first calls took an epoch's time or more
  double wall_s = 0, cpu_s = 0;
  /// What all calls together did (ProcessWatch), and their number.
  std::int64_t heap_calls = 0, mapped_bytes = 0, switches = 0, called = 0;
  Cell& cell() const { return *cells.front(); }
  /// Drops what the rounds so far have noted.
  void forget_rounds();
};

/// Makes a contestant with one cell for each thread, by make(thread).
template <class Make>
Contestant contestant_of(const std::string& owner, int threads, Make&& make) {
  Contestant e;
  e.owner = owner;
  for (int i = 0; i < threads; ++i) e.cells.push_back(make(i));
  return e;
}

/// True for a kernel with threads, its own or its plugin's. A thread that loading began may rest in
/// every call, so its kernel need not declare it.
bool may_hide_work(const Contestant& e);
/// Whether the outputs of an epoch stay as its last call left them. Otherwise it has a refusal.
/// Without `refill` the calls begin with what the buffers hold.
bool rests_after_calls(Contestant& e, Crew& crew, ProcessWatch& watch, bool refill,
                       std::uint64_t random);
/// Of a kernel that may hide work: whether a call takes as long after a pause if its inputs are
/// there before it as if they come after it. Otherwise its threads work between calls, and it has a
/// refusal. Notes in its row what the threads used meanwhile. True for other kernels.
bool rests_between_calls(Contestant& e, Contestant& baseline, Crew& crew, ProcessWatch& watch,
                         std::uint64_t random);

/// A seed that differs for each launch and name.
std::uint64_t seed_of(const PairedPlan& plan, const std::string& name);

struct RoundsOf {
  using Until = std::optional<std::chrono::steady_clock::time_point>;
  GroupMemory& memory;
  std::string name;  ///< seeds the order of the rounds
  /// The kernels whose calls were as fast at first as later, in the groups before.
  std::set<std::string>& steady;
  /// When the group ought to be done, if its time counts and not its rounds.
  Until until = {}, group_until = {};  ///< of this placement, and of all
  /// How often the group's buffers were placed before. The first time, contestants settle and
  /// epochs are chosen; later ones know their call_s.
  int placement = 0;
  // Found by the placements before, in s; 0: not yet.
  double epoch_s = 0, round_s = 0;
  double rounds_s = 0;  ///< what the rounds of a placement took
};

/// Times all contestants, each with a cell for each member of the crew. Afterwards their rows are
/// complete. Returns NULL if all went well, else the contestant that has a refusal now. Throws
/// std::runtime_error if `watch` does; `now_running` has named the kernel by then.
Contestant* time_rounds(const PairedPlan& plan, RoundsOf& of, Crew& crew,
                        std::vector<Contestant>& contestants, Oracle& oracle, ProcessWatch& watch);

}  // namespace ropewalk::bench
