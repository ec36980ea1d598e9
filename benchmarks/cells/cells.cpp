#include "benchmarks/cells/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/median.h"
#include "base/random.h"
#include "benchmarks/ceilings/ceilings.h"
#include "benchmarks/cells/kernel_states.h"
#include "benchmarks/cells/recheck.h"
#include "benchmarks/machine/environment.h"
#include "benchmarks/workloads/traffic.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workload_shape.h"
#include "harness/process/extension_chain.h"
#include "harness/watch/left_running.h"
#include "kernels/api/cpu_features.h"

namespace ropewalk::bench {
using namespace harness;
using namespace report;

TimingRow known_row(const Workload& w, bool table) {
  TimingRow row;
  row.workload = w.name;
  row.source = w.source;
  row.phase = word(w.phase);
  row.board = board_of(w, table ? "table" : "computed");
  row.tokens = w.batch * w.tokens;
  row.bytes = traffic_bytes(w, table);
  row.working_set_bytes = working_set_bytes(w, table);
  row.table_bytes = table ? table_bytes(w) : 0;
  return row;
}

namespace {

/// A cell in the memory of the host, timed by its caller.
class HostCell : public Cell {
 public:
  /// A change comes before any call in half of the epochs, before one of the last eight in the
  /// others, the last above all, as a kernel may repeat what it found in the call before. Where the
  /// outputs drift it comes before one of the last few. In place it turns forward, as forward and
  /// back in turn bring back the first input there. The weights and slots change by themselves, so
  /// that no kernel learns from them when the input does.
  Epoch draw_epoch(std::int64_t calls, std::uint64_t& random) override {
    lazy_.here().draw_change(random);
    const auto drawn = [&] {
      const bool anywhere = next_random(random) % 2 == 0 && !drifts();
      const std::int64_t last = drifts() ? few_calls - 1 : 1 << next_random(random) % 4;
      const std::int64_t among = anywhere ? calls : std::min(calls, last);
      return calls - 1 - random_below(among, random);
    };
    const std::int64_t before = drawn();
    if (is_in_place(workload_)) return {calls, before - before % 2};
    return {calls, before, is_fusing(workload_) ? drawn() : Epoch::none};
  }

 protected:
  HostCell(const Workload& workload, LazyData& data) : Cell(workload), lazy_(data) {}
  void make_ready(bool refill) override {
    if (refill) lazy_.here().refill();
    lazy_.here().moving().write();  // a kernel that threw left those of its last call
    call_count_ = 0;
    is_refilled_ = refill;
    changed_at_.reset();
  }
  /// Whether many calls leave what no bound can tell: in place in 16 bits, or all forward.
  virtual bool drifts() const { return false; }
  /// Calls call(i) for an epoch, i counting from the last ready(), and moves input and positions
  /// between: before each call, in place forward and back in turn before each call forward. Ends
  /// early if it returns false. `every`: how many calls share their positions.
  template <class Call>
  void make_calls(const Epoch& epoch, std::uint64_t every, Call&& call) {
    WorkloadData& data = lazy_.here();
    MovingPositions moving = data.moving();
    const std::uint64_t shared = every - 1;
    std::uint64_t i = call_count_;
    bool goes_on = true;
    const auto [first, second] = std::minmax(epoch.change_before, epoch.constants_before);
    for (const std::int64_t before : {first, second, epoch.calls}) {
      const auto end = call_count_ + static_cast<std::uint64_t>(std::min(before, epoch.calls));
      while (i < end && goes_on) {
        if ((i & shared) == 0) moving.move_on();
        goes_on = call(i++);
        __asm__ volatile("" ::: "memory");
      }
      if (before >= epoch.calls || !goes_on) break;
      if (before == epoch.constants_before && !data.has_other_slots()) data.change_constants();
      if (before != epoch.change_before || changed_at_ == i) continue;
      data.change();
      changed_at_ = i;
    }
    call_count_ = i;
    data.moving() = moving;
  }
  LazyData& lazy_;
  std::uint64_t call_count_ = 0;             ///< since the last ready()
  bool is_refilled_ = false;                 ///< that gave the buffers the input
  std::optional<std::uint64_t> changed_at_;  ///< calls until the input changed, since then
};

class CeilingCell final : public HostCell {
 public:
  CeilingCell(const Workload& workload, LazyData& data, std::string variant)
      : HostCell(workload, data), wanted_(std::move(variant)) {}
  bool run(const Epoch& epoch) override {
    const std::uint64_t every = is_in_place(workload_) && !workload_.cold ? 2 : 1;  // as kernels
    make_calls(epoch, every, [&](std::uint64_t) {
      for (const CeilingSpan& span : spans_) pass_(span);
      return true;
    });
    return true;
  }

 private:
  void prepare() override {
    const auto loops = is_in_place(workload_) ? update_loops() : copy_loops();
    WorkloadData& data = lazy_.make();
    spans_ = goes_past_caches(wanted_) ? data.spans_apart() : data.spans();
    for (const CeilingLoop& loop : loops)
      if (loop.name == wanted_) {
        pass_ = loop.pass;
        return;
      }
    refuse(Outcome::skipped, "no ceiling was picked for it");
  }

  std::string wanted_;
  std::vector<CeilingSpan> spans_;
  void (*pass_)(const CeilingSpan&) = nullptr;
};

/// Calls one kernel. In place it turns forward and back in turn, forward first.
class KernelCell final : public HostCell {
 public:
  KernelCell(const rope_kernel& kernel, KernelPlan plan, const Workload& workload, LazyData& data)
      : HostCell(workload, data), kernel_(kernel), plan_(plan), states_(kernel, plan, workload) {}

  bool run(const Epoch& epoch) override {
    std::int32_t status = ROPE_OK;
    const auto calls = [&] {
      std::int32_t last = ROPE_OK;  // stays in a register
      make_calls(epoch, plan_.alternates ? 2 : 1, [&](std::uint64_t i) {
        last = call(i);
        return last == ROPE_OK;
      });
      status = last;
    };
    const std::function<void()> all = std::ref(calls);
    return guarded([&] {
      hold_thread(Entry::apply, all);
      hold_answer(Entry::apply, status);
    });
  }

  bool keeps_arguments() override {
    if (!states_.have_begun()) return !refusal;  // not prepared yet
    return guarded([&] {
      WorkloadData& data = lazy_.here();  // all are looked at, and so mended for the next kernel
      const bool workspace = workspace_.is_whole(), positions = data.positions_are_whole(),
                 outputs = data.outputs_are_whole();
      states_.hold(Entry::apply);
      if (!workspace) entry_failed(Entry::apply, "wrote outside its workspace");
      if (!positions) entry_failed(Entry::apply, "wrote into its positions");
      if (!outputs) entry_failed(Entry::apply, "wrote past the end of an output");
    });
  }

  void release() override {
    states_.release();
    if (!refusal) states_.hold(Entry::release);
  }

  bool judge(Oracle& oracle, std::uint64_t seed) override {
    if (call_count_ == 0) return false;
    if (changed_at_) lazy_.here().take_change(true);
    bool held = lazy_.here().inputs_are_whole() && holds(oracle, seed);
    if (!held && !refusal) refuse(Outcome::broken, "apply wrote into its input while timed");
    // What was never turned looks like what was turned back: then one call more tells.
    if (held && plan_.alternates && is_refilled_ && call_count_ % 2 == 0)
      held = run({}) && keeps_arguments() && holds(oracle, seed);
    if (changed_at_) lazy_.here().take_change(false);
    return held;
  }

  const rope_kernel* kernel() const override { return &kernel_; }

  bool completes_calls(const Epoch& epoch) override {
    if (!run(epoch)) return false;
    const std::uint64_t pieces = fresh_seed();
    const std::size_t at_once = lazy_.here().outputs_fingerprint(pieces);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (lazy_.here().outputs_fingerprint(pieces) != at_once)
      refuse(Outcome::broken, "its output changed after apply had returned, while timed");
    return !refusal;
  }

  std::optional<Gap> call_after_gap(bool is_given_before,
                                    std::chrono::microseconds pause) override {
    using Clock = std::chrono::steady_clock;
    if (!ready()) return {};
    Gap out;
    const auto give = [&] {
      make_ready(true);
      lazy_.here().moving().move_on();
    };
    if (is_given_before) give();
    const std::int64_t ran_before_ns = own_threads_ns(&kernel_);
    const auto begun = Clock::now();
    std::this_thread::sleep_for(pause);
    out.spun = static_cast<double>(own_threads_ns(&kernel_) - ran_before_ns) /
               std::chrono::duration<double, std::nano>(Clock::now() - begun).count();
    if (!is_given_before) give();
    const auto start = Clock::now();
    const std::int32_t status = call(0);
    out.call_s = std::chrono::duration<double>(Clock::now() - start).count();
    guarded([&] { hold_answer(Entry::apply, status); });
    return refusal ? std::optional<Gap>() : out;
  }

 private:
  bool drifts() const override { return bench::drifts(workload_, plan_.alternates); }
  std::int32_t call(std::uint64_t i) const {
    if (!plan_.unfused) return states_.apply(i);
    for (const NormPass& pass : norms_) normalize(pass);
    const std::int32_t status = states_.apply(i);
    for (const CeilingSpan& s : copies_[lazy_.here().has_other_slots() ? 1 : 0])
      for (std::int64_t at = 0; at < s.rows * s.stride; at += s.stride)
        std::memcpy(static_cast<std::byte*>(s.out) + at, static_cast<const std::byte*>(s.in) + at,
                    static_cast<std::size_t>(s.row_bytes));
    return status;
  }
  /// Judges what the calls since ready() left.
  bool holds(Oracle& oracle, std::uint64_t seed) {
    using Rows = Expected::Rows;
    const PositionsBefore positions = [&](std::int64_t calls) {
      return lazy_.here().positions(calls);
    };
    const bool in_place = is_in_place(workload_);
    Expected expected;
    if (in_place && !is_refilled_)
      expected.rows = Rows::not_at_all;
    else
      expected = expected_after(workload_, plan_.alternates, call_count_, positions);
    if (in_place && changed_at_ && (expected.rows != Rows::exactly || !plan_.alternates))
      expected.since = turns_of(workload_, plan_.alternates, call_count_ - *changed_at_, positions);
    rope_kernel judged = kernel_;
    if (plan_.unfused)  // by the pass before it
      judged.flags = (judged.flags & ~std::uint32_t{ROPE_ROUNDS_NORM}) | ROPE_ROUNDS_WEIGHTED;
    const std::string wrong = recheck(judged, workload_, lazy_.here(), expected, oracle, seed);
    if (!wrong.empty()) refuse(Outcome::broken, "while timed: " + wrong);
    return wrong.empty();
  }

  void prepare() override {
    WorkloadData& data = lazy_.make();
    if (plan_.unfused) {
      norms_ = data.norm_passes();
      for (const bool changed : {false, true}) copies_[changed] = data.cache_spans(true, changed);
    }
    const auto take_workspace = [&](std::int64_t bytes) {
      if (failure_of([&] { workspace_ = AlignedBytes(bytes); }))
        throw StepFailed{protocol::Status::skipped, "memory for its workspace could not be had"};
      return workspace_.data();
    };
    states_.begin(
        data.inv_freq(kernel_.angle_contract == ROPE_CONTRACT_F32_ANGLE), take_workspace, 1,
        [&](std::int64_t) { return data.operands(plan_.table, plan_.unfused); }, row);
  }

  const rope_kernel& kernel_;
  KernelPlan plan_;
  std::vector<NormPass> norms_;         // both: of what is unfused
  std::vector<CeilingSpan> copies_[2];  // to the slots before the change, and behind it
  AlignedBytes workspace_;
  KernelStates states_;  // released before the workspace goes
};

}  // namespace

std::string why_never_timed(std::uint32_t flags) {
  return (flags & ROPE_HOST_LAUNCHER) != 0 ? "judged by the host launcher: not timed" : "";
}

KernelPlan plan_of(const rope_kernel& kernel, const Workload& workload) {
  KernelPlan plan;
  if (!why_never_timed(kernel.flags).empty()) return plan;
  if (kernel.memory == ROPE_HOST && !missing_cpu_feature(kernel.cpu_features).empty()) return plan;
  if ((kernel.flags & ROPE_NEEDS_ALIGN_64) != 0 && !begins_aligned(workload)) return plan;
  plan.table = kernel.angle_contract == ROPE_CONTRACT_TABLE;
  const bool f32 = kernel.angle_contract == ROPE_CONTRACT_F32_ANGLE;
  const std::vector<double> inv_freq = inv_freq_of(workload, f32);
  const auto accepts = [&](Operation operation, bool unfused = false) {
    ProblemNodes nodes;
    rope_problem asked =
        make_problem(workload, inv_freq, plan.table ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ,
                     operation, &nodes, unfused);
    if (const auto fault = failure_of([&] { hold_chain(asked, kernel); }))
      plan.refused = fault->text, asked.next = nullptr;
    const ShownProblem problem(asked);
    const char* reason = nullptr;
    std::int32_t answer = ROPE_OK;
    const auto failed = failure_of([&] {
      answer = enter_on_thread(Entry::supports, kernel.supports, problem.shown(), &reason);
      problem.hold(Entry::supports);
    });
    if (failed) throw std::runtime_error(failed->text);
    return answer == ROPE_OK;
  };
  plan.supported = accepts(workload.operation);
  plan.alternates =
      plan.supported && is_in_place(workload) && !workload.cold && accepts(back_from(workload));
  if (!plan.supported) plan.refused.clear();
  plan.supported = plan.supported && plan.refused.empty();
  plan.may_be_unfused = plan.supported && is_fusing(workload) && accepts(workload.operation, true);
  return plan;
}

KernelPlan plan_of(const Candidate& timed, const Workload& workload) {
  if (timed.broken_reason.empty()) return plan_of(*timed.kernel, workload);
  const bool table = timed.kernel->angle_contract == ROPE_CONTRACT_TABLE;
  return {.supported = true, .alternates = false, .table = table};
}

std::optional<Refusal> refusal_of(const Candidate& timed, const Workload& workload) {
  if (!timed.broken_reason.empty()) return Refusal{Outcome::broken, timed.broken_reason};
  if (timed.unverified.contains(workload.name))
    return Refusal{Outcome::skipped,
                   "not verified: it refused this shape, or passed no property of it"};
  return {};
}

std::unique_ptr<Cell> make_kernel_cell(const rope_kernel& kernel, KernelPlan plan,
                                       const Workload& workload, LazyData& data) {
  auto cell = std::make_unique<KernelCell>(kernel, plan, workload, data);
  cell->row = known_row(workload, plan.table);
  return cell;
}

std::unique_ptr<Cell> make_ceiling_cell(const Workload& workload, LazyData& data,
                                        const std::string& variant) {
  auto cell = std::make_unique<CeilingCell>(workload, data, variant);
  TimingRow& row = cell->row = known_row(workload, false);
  row.kernel = is_in_place(workload)       ? "ceiling_update"
               : goes_past_caches(variant) ? "ceiling_copy_past_caches"
                                           : "ceiling_copy";
  row.summary = fmt::format(
      "{}; the best of its kind in a process of its own: {}",
      is_in_place(workload) ? "turns the signs over in the same bytes" : "a copy of the same bytes",
      variant);
  row.board = board_of(workload, "");
  row.role = Role::ceiling;
  row.variant = variant;
  row.bytes = ceiling_traffic_bytes(workload);
  row.working_set_bytes = ceiling_working_set_bytes(workload);
  return cell;
}

void take_medians(TimingRow& row) {
  row.ns_per_token_median = median_of(row.ns_per_token);
  const double call_ns = row.ns_per_token_median * static_cast<double>(row.tokens);
  row.gb_per_s_median = call_ns > 0 ? static_cast<double>(row.bytes) / call_ns : 0;
}

}  // namespace ropewalk::bench
