#include "benchmarks/cells/device_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/median.h"
#include "benchmarks/ceilings/ceilings.h"
#include "benchmarks/ceilings/device_functions.h"
#include "benchmarks/cells/kernel_states.h"
#include "benchmarks/cells/recheck.h"
#include "benchmarks/workloads/traffic.h"
#include "harness/device/device.h"
#include "harness/process/step_failed.h"

namespace ropewalk::bench {
using namespace harness;
using namespace report;
namespace {

constexpr const char* memcpy_variant = "memcpy";

/// Call i works on set i mod sets().
class DeviceCell : public Cell {
 public:
  Epoch draw_epoch(std::int64_t calls, std::uint64_t&) override { return {calls}; }

  bool run(const Epoch& epoch) override {
    return guarded([&] {
      make_rows_ready();
      DeviceTime all{0, 0};
      for (std::int64_t left = epoch.calls; left > 0;) {
        const std::int64_t calls = std::min(left, own_calls()->most);
        const DeviceTime time = timed(calls, left / calls);
        all.device_s += time.device_s;
        all.host_s += time.host_s;
        left %= calls;
      }
      call_count_ += epoch.calls;
      device_s_ = all.device_s;
      take_host_time(epoch.calls, all);
    });
  }

  std::optional<double> own_s() const override { return device_s_; }
  std::optional<Calls> own_calls() const override {
    const std::int64_t two_rounds = 2 * sets_;
    return Calls{sets_, std::max<std::int64_t>(most_graph_calls / two_rounds, 1) * two_rounds};
  }

  bool end_rounds() override {
    row.host_ns_per_token = least_host_s_ * 1e9 / static_cast<double>(row.tokens);
    if (!refusal && kernel() != nullptr && least_late_s_ > late_s)
      refuse(Outcome::broken,
             fmt::format("works outside its stream: {:.0f} us after its events, or more",
                         least_late_s_ * 1e6));
    return !refusal;
  }

 protected:
  DeviceCell(const Workload& workload, LazyDeviceSets& lazy)
      : Cell(workload), lazy_(lazy), sets_(sets_of(workload, device().l2_bytes())) {
    if (2 * sets_ > most_graph_calls)
      refuse(Outcome::skipped,
             fmt::format("is not offered on this device: {} sets of buffers are three times its "
                         "cache, and a graph has {} calls",
                         sets_, most_graph_calls));
    row = known_row(workload, false);
    row.board = board_of(workload, "") + std::string(device_board);
    row.device = lazy.module().facts();
    row.sets = sets_;
  }

  void prepare() override { lazy_.here(); }
  /// Puts call i on the stream. Throws StepFailed.
  virtual void put(std::int64_t i) = 0;
  virtual bool as_graph() const { return true; }
  virtual void make_rows_ready() {}

  Device& device() const { return lazy_.module().device(); }
  std::int64_t sets() const { return sets_; }
  DeviceTime timed(std::int64_t calls, std::int64_t times) {
    if (as_graph()) return clock().replay(graph_of(calls), times);
    return clock().time([&] {
      for (std::int64_t i = 0; i < calls * times; ++i) put(i);
    });
  }
  CapturedGraph recorded(std::int64_t calls) {
    return clock().record([&] {
      for (std::int64_t i = 0; i < calls; ++i) put(i);
    });
  }
  bool is_lost() const override { return device().is_lost(); }

  LazyDeviceSets& lazy_;
  std::int64_t call_count_ = 0;  ///< since the last ready()

 private:
  static constexpr double most_late = 1.2, late_s = 100e-6;
  static constexpr std::size_t most_graphs = 3;
  struct Recorded {
    std::int64_t calls;
    CapturedGraph graph;
  };

  void make_ready(bool) override {
    lazy_.here().renew();
    call_count_ = 0;
  }
  DeviceClock& clock() {
    if (!clock_) clock_.emplace(device(), lazy_.module().stream());
    return *clock_;
  }
  /// The last one that was used stands last.
  CapturedGraph& graph_of(std::int64_t calls) {
    auto found = std::ranges::find_if(graphs_, [&](const Recorded& r) { return r.calls == calls; });
    if (found != graphs_.end()) {
      std::rotate(found, found + 1, graphs_.end());
      return graphs_.back().graph;
    }
    if (graphs_.size() == most_graphs) graphs_.erase(graphs_.begin());
    graphs_.push_back({calls, recorded(calls)});
    hold_nodes(calls, graphs_.back().graph);
    return graphs_.back().graph;
  }
  /// Each call must put as many nodes into a graph as the first one of its kind, forward or back: a
  /// call that does nothing may leave what is right.
  void hold_nodes(std::int64_t calls, const CapturedGraph& graph) {
    if (forward_nodes_ == 0) {
      forward_nodes_ = recorded(1).nodes();
      back_nodes_ = recorded(sets_ + 1).nodes() - forward_nodes_ * static_cast<std::size_t>(sets_);
    }
    std::size_t wanted = 0;
    for (std::int64_t i = 0; i < calls; ++i)
      wanted += i / sets_ % 2 == 0 ? forward_nodes_ : back_nodes_;
    if (graph.nodes() != wanted)
      throw StepFailed{protocol::Status::failed,
                       fmt::format("put {} nodes into a graph of {} calls, where {} of one call",
                                   graph.nodes(), calls, forward_nodes_)};
  }
  /// Long epochs tell: a short one begins and ends slowly by the host's clock.
  void take_host_time(std::int64_t calls, const DeviceTime& all) {
    if (calls > host_calls_)
      least_late_s_ = least_host_s_ = std::numeric_limits<double>::infinity();
    if (calls < host_calls_) return;
    host_calls_ = calls;
    least_late_s_ = std::min(least_late_s_, all.host_s - most_late * all.device_s);
    least_host_s_ = std::min(least_host_s_, all.host_s / static_cast<double>(calls));
  }

  std::int64_t sets_;
  std::optional<DeviceClock> clock_;
  std::vector<Recorded> graphs_;
  std::size_t forward_nodes_ = 0, back_nodes_ = 0;  ///< of one call
  double device_s_ = 0;
  std::int64_t host_calls_ = 0;
  double least_late_s_ = std::numeric_limits<double>::infinity();
  double least_host_s_ = std::numeric_limits<double>::infinity();
};

/// In place, all sets are turned forward in one round, and back in the next.
class DeviceKernelCell final : public DeviceCell {
 public:
  DeviceKernelCell(const rope_kernel& kernel, KernelPlan plan, const Workload& workload,
                   LazyDeviceSets& lazy)
      : DeviceCell(workload, lazy), kernel_(kernel), plan_(plan), states_(kernel, plan, workload) {
    const TimingRow known = known_row(workload, plan.table);
    row.board = known.board + std::string(device_board);
    row.bytes = known.bytes;
    row.working_set_bytes = known.working_set_bytes * sets();
    row.table_bytes = known.table_bytes;
  }

  const rope_kernel* kernel() const override { return &kernel_; }
  void release() override {
    states_.release();
    if (!refusal) states_.hold(Entry::release);
  }

  bool keeps_arguments() override {
    if (refusal || !states_.have_begun() || call_count_ == 0) return !refusal;
    return guarded([&] {
      states_.hold(Entry::apply);
      if (!workspace_.touched().empty()) entry_failed(Entry::apply, "wrote outside its workspace");
      lazy_.here().hold_bytes();
      if (const std::string changed = device().left_changed(); !changed.empty())
        entry_failed(Entry::apply, changed);
    });
  }

  bool judge(Oracle& oracle, std::uint64_t seed) override {
    if (call_count_ == 0 || refusal) return false;
    return guarded([&] {
      const std::int64_t set = turned_set(static_cast<std::int64_t>(seed >> 1));
      DeviceSets& data = lazy_.here();
      data.choose(set, seed);
      const Expected expected =
          expected_after(workload_, plan_.alternates, static_cast<std::uint64_t>(turns_of(set)),
                         [&](std::int64_t) { return data.last_positions(); });
      const std::string wrong = recheck(kernel_, workload_, data, expected, oracle, seed);
      if (!wrong.empty()) throw StepFailed{protocol::Status::failed, wrong};
      data.hold_constants();
    });
  }

 private:
  /// How often the calls since ready() turned a set.
  std::int64_t turns_of(std::int64_t set) const {
    return (call_count_ - set + sets() - 1) / sets();
  }
  /// A set that calls turned, and that is not turned back, if there is one: what was never turned
  /// looks like what was turned back.
  std::int64_t turned_set(std::int64_t any) const {
    const std::int64_t called = std::min(call_count_, sets());
    const std::int64_t first = any % called;
    for (std::int64_t i = 0; i < called; ++i)
      if (turns_of((first + i) % called) % 2 == 1) return (first + i) % called;
    return first;
  }
  bool as_graph() const override { return is_captured_; }
  void make_rows_ready() override { states_.gather_rows(); }

  /// A framework compiles, and makes what it keeps, in the first calls. Where it waits in a call,
  /// no graph can be made of it.
  void choose_how() {
    for (std::int64_t i = 0; i < (plan_.alternates ? 2 : 1) * sets(); ++i) put(i);
    device().wait_for_all("in apply");
    states_.gather_rows();
    const auto failed = failure_of([&] { recorded(1); });
    if (failed && is_lost()) throw StepFailed{*failed};
    is_captured_ = !failed;
    if (failed)
      row.summary += "; timed by events around its calls, not as a graph: " + failed->text;
  }

  void prepare() override {
    DeviceSets& data = lazy_.here();
    const auto take_workspace = [&](std::int64_t bytes) {
      workspace_ = DeviceBlock(device(), static_cast<std::size_t>(bytes), "the workspace");
      device().wait_for_queued();
      return workspace_.pointer();
    };
    states_.begin(
        data.inv_freq(kernel_.angle_contract == ROPE_CONTRACT_F32_ANGLE), take_workspace, sets(),
        [&](std::int64_t set) { return data.operands(plan_.table, set); }, row);
    if ((kernel_.flags & ROPE_INTERPRETED) != 0) choose_how();
  }

  void put(std::int64_t i) override {
    std::int32_t status = ROPE_OK;
    hold_thread(Entry::apply, [&] {
      status = states_.apply(static_cast<std::uint64_t>(i / sets()),
                             static_cast<std::size_t>(i % sets()));
    });
    hold_answer(Entry::apply, status);
  }

  const rope_kernel& kernel_;
  KernelPlan plan_;
  bool is_captured_ = true;
  DeviceBlock workspace_;
  KernelStates states_;  // released before the workspace goes
};

/// Moves the bytes of a set, side by side, by a function of the harness or by the driver's memcpy.
class DeviceCeilingCell final : public DeviceCell {
 public:
  DeviceCeilingCell(const Workload& workload, LazyDeviceSets& lazy, std::string& variant)
      : DeviceCell(workload, lazy), variant_(variant) {
    row.kernel = is_in_place(workload) ? "ceiling_update" : "ceiling_copy";
    row.role = Role::ceiling;
    row.bytes = ceiling_traffic_bytes(workload);
    row.working_set_bytes = ceiling_working_set_bytes(workload) * sets();
  }

 private:
  std::vector<DeviceLoop> loops() const {
    std::vector<DeviceLoop> all =
        is_in_place(workload_) ? device_update_loops() : device_copy_loops();
    if (!is_in_place(workload_)) all.push_back({memcpy_variant, 0, false});
    return all;
  }
  void prepare() override {
    lazy_.here();
    if (variant_.empty()) pick();
    for (const DeviceLoop& loop : loops())
      if (loop.name == variant_) loop_ = loop;
    row.variant = variant_;
    row.summary =
        fmt::format("{}; the best of its variants in a trial: {}",
                    is_in_place(workload_) ? "turns the signs over in the same number of bytes"
                                           : "a copy of the same number of bytes",
                    variant_);
  }
  /// The variant with the smallest median over interleaved graphs.
  void pick() {
    constexpr int rounds = 5;
    constexpr std::int64_t trial_calls = 64;
    const std::int64_t calls = (trial_calls / sets() + 1) * sets();
    DeviceClock clock(device(), lazy_.module().stream());
    std::vector<CapturedGraph> graphs;
    const std::vector<DeviceLoop> all = loops();
    for (const DeviceLoop& loop : all) {
      loop_ = loop;
      graphs.push_back(clock.record([&] {
        for (std::int64_t i = 0; i < calls; ++i) put(i);
      }));
    }
    std::vector<std::vector<double>> times_s(all.size());
    for (int round = 0; round <= rounds; ++round)  // the first is a warm-up
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double device_s = clock.replay(graphs[i], 1).device_s;
        if (round > 0) times_s[i].push_back(device_s);
      }
    double least_s = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double time_s = median_of(times_s[i]);
      if (time_s >= least_s) continue;
      least_s = time_s;
      variant_ = all[i].name;
    }
  }

  void put(std::int64_t i) override {
    DeviceSets& data = lazy_.here();
    const std::int64_t set = i % sets();
    const cuda::DeviceAddress from = data.in(set), to = data.out(set);
    const std::uint64_t vectors = data.vectors();
    if (loop_.name == memcpy_variant)
      return device().check(device().driver().MemcpyDtoDAsync(
                                to, from, vectors * device_vector_bytes, lazy_.module().stream()),
                            "while memory was copied");
    const std::uint64_t blocks = blocks_for(vectors, loop_.vectors);
    if (is_in_place(workload_))
      lazy_.module().launch(loop_.name, blocks, {to, vectors, sign_flips(workload_.dtype)});
    else
      lazy_.module().launch(loop_.name, blocks, {to, from, vectors});
  }

  std::string& variant_;
  DeviceLoop loop_{};
};

// `floor` and `floor_copy` are functions of the device. With a kernel it is `floor_python`.
class DeviceFloorCell final : public DeviceCell {
 public:
  DeviceFloorCell(const Workload& workload, LazyDeviceSets& lazy, bool copies,
                  const rope_kernel* empty)
      : DeviceCell(workload, lazy), copies_(copies) {
    if (empty != nullptr) states_.emplace(*empty, KernelPlan{}, workload);
    row.kernel = copies ? "floor_copy" : states_ ? "floor_python" : "floor";
    row.summary = copies    ? "reads a position, its row of the table and x, and writes x back"
                  : states_ ? "an empty function in Python, timed by events around its calls"
                            : "an empty function, one in each node of the graph";
    row.role = Role::floor;
    row.bytes = copies ? known_row(workload, true).bytes : 0;
  }

 private:
  bool as_graph() const override { return !states_; }
  void prepare() override {
    if (!states_) return;
    DeviceSets& data = lazy_.here();
    const auto operands = [&](std::int64_t set) { return data.operands(false, set); };
    states_->begin(
        data.inv_freq(false), [](std::int64_t) { return nullptr; }, sets(), operands, row);
  }
  void put(std::int64_t i) override {
    const std::int64_t set = i % sets();
    if (copies_)
      lazy_.here().put_floor_copy(set);
    else if (states_)
      hold_answer(Entry::apply, states_->apply(0, static_cast<std::size_t>(set)));
    else
      lazy_.module().launch("floor", 1, {});
  }

  bool copies_;
  std::optional<KernelStates> states_;
};

}  // namespace

std::unique_ptr<Cell> make_device_cell(const rope_kernel& kernel, KernelPlan plan,
                                       const Workload& workload, LazyDeviceSets& sets) {
  return std::make_unique<DeviceKernelCell>(kernel, plan, workload, sets);
}
std::unique_ptr<Cell> make_device_ceiling(const Workload& workload, LazyDeviceSets& sets,
                                          std::string& variant) {
  return std::make_unique<DeviceCeilingCell>(workload, sets, variant);
}
std::unique_ptr<Cell> make_device_floor(const Workload& workload, LazyDeviceSets& sets, bool copies,
                                        const rope_kernel* empty) {
  return std::make_unique<DeviceFloorCell>(workload, sets, copies, empty);
}

}  // namespace ropewalk::bench
