#include "benchmarks/engine/paired.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/random.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/engine/epochs.h"
#include "benchmarks/machine/environment.h"

namespace ropewalk::bench {
using namespace report;
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Where buffers and arguments lie changes the time of a loop by as much as another process does.
constexpr std::int64_t most_placements = 24;
constexpr double for_placing = 0.15;  // of the time, if more than one is to be

/// Puts the rounds of `earlier` before those of `row`.
void put_before(const TimingRow& earlier, TimingRow& row) {
  const auto before = static_cast<double>(earlier.ns_per_token.size());
  const double share = before / (before + static_cast<double>(row.ns_per_token.size()));
  for (double TimingRow::*mean : {&TimingRow::off_cpu_share, &TimingRow::heap_calls,
                                  &TimingRow::mapped_bytes, &TimingRow::context_switches})
    row.*mean += share * (earlier.*mean - row.*mean);
  for (std::int64_t TimingRow::*sum :
       {&TimingRow::involuntary_switches, &TimingRow::page_faults, &TimingRow::reverified})
    row.*sum += earlier.*sum;
  const auto put = [](const auto& from, auto& to) {
    to.insert(to.begin(), from.begin(), from.end());
  };
  put(earlier.ns_per_token, row.ns_per_token);
  put(earlier.iterations, row.iterations);
  put(earlier.probe_ns, row.probe_ns);
  row.steal_ms += earlier.steal_ms;
  row.between_calls = std::max(row.between_calls, earlier.between_calls);
  row.slow_calls = earlier.slow_calls;
  row.slow_times = earlier.slow_times;
  take_medians(row);
}

/// One board on one workload: the kernels that may be ranked together.
class Group {
 public:
  struct GroupKernel {
    const Candidate* timed;
    KernelPlan plan;
    std::optional<Refusal> refusal;  ///< why it is not timed
  };

  /// `steady`: as in RoundsOf.
  Group(const PairedPlan& plan, GroupMemory& memory, int threads, Oracle& oracle,
        std::set<std::string>& steady, std::vector<GroupKernel> kernels)
      : plan_(plan),
        workload_(memory.workload()),
        memory_(memory),
        threads_(threads),
        oracle_(oracle),
        steady_(steady),
        kernels_(std::move(kernels)) {
    for (GroupKernel& m : kernels_) {
      if (m.refusal) continue;
      if (has_own_threads(m.timed->kernel->exceptions)) {
        const auto may_use = std::ssize(allowed_cpus());
        if (may_use != threads_)
          m.refusal = Refusal{Outcome::skipped,
                              fmt::format("its own threads may use {} processors: timed beside {} "
                                          "threads of others",
                                          may_use, may_use)};
        continue;
      }
      if (threads_ == 1) continue;
      if (m.timed->kernel->memory == ROPE_CUDA)
        m.refusal = Refusal{Outcome::skipped, "runs on a device: threads are those of the host"};
      else if ((m.timed->kernel->flags & ROPE_THREAD_SAFE) == 0)
        m.refusal = Refusal{Outcome::skipped, "does not promise ROPE_THREAD_SAFE"};
    }
  }

  void run(const RoundsOf::Until& until) {
    Crew crew(threads_ == 1 ? std::vector<int>{} : processors_for(threads_, allowed_cpus()));
    ProcessWatch watch(plan_.device != nullptr);  // made while the crew's threads exist
    std::vector<Contestant> contestants;
    RoundsOf of{memory_, name(), steady_};
    of.group_until = until;
    for (std::int64_t left = until && memory_.can_move() ? most_placements : 1; left > 0;) {
      const auto began = Clock::now();
      of.rounds_s = 0;
      drop(contestants, watch);
      if (of.placement > 0) memory_.place_anew(next_random(random_));
      enter_all(contestants);
      if (contestants.empty()) break;
      if (until) of.until = began + (*until - began) / left;
      if (const Contestant* refused = time_rounds(plan_, of, crew, contestants, oracle_, watch)) {
        // Without their baseline, the rounds of earlier placements are useless.
        if (refused->owner.empty() || refused->owner == contestants.front().owner) {
          rows_.clear();
          of.placement = 0;
        }
        take_refusal(*refused);
        continue;
      }
      take_rounds(contestants);
      ++of.placement;
      --left;
      if (until) left = std::min(left, affordable(*until - Clock::now(), Clock::now() - began, of));
    }
    hand_out(contestants);
    drop(contestants, watch);
  }

  std::string board() const { return memory_.board(kernels_.front().plan.table); }
  std::string name() const { return group_name(workload_.name, board(), threads_); }

 private:
  /// How many more placements are worth their cost in the time left, by what the last one took. In
  /// the first, contestants settle.
  static std::int64_t affordable(Seconds left, Seconds took, const RoundsOf& of) {
    if (of.placement == 1) return static_cast<std::int64_t>(left / took);
    const Seconds cost = std::max(took - Seconds(of.rounds_s), Seconds(1e-6));
    if (left < cost) return 0;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(for_placing * left / cost));
  }

  void take_refusal(const Contestant& refused) {
    for (GroupKernel& m : kernels_)  // a ceiling belongs to no kernel
      if (m.timed->name == refused.owner ||
          (refused.owner.empty() && !m.refusal))  // no memory for it, and so for no other
        m.refusal = *refused.cell().refusal;
  }

  /// Puts the rounds of earlier placements before those of this one.
  void take_rounds(std::vector<Contestant>& contestants) {
    for (Contestant& e : contestants) {
      TimingRow& row = e.cell().row;
      const auto earlier = rows_.find(row.kernel);
      if (earlier != rows_.end()) put_before(earlier->second, row);
      rows_[row.kernel] = row;
      call_s_[row.kernel] = e.call_s;
    }
  }

  const GroupKernel* baseline() const {
    const GroupKernel* found = nullptr;
    const auto rank = [&](const GroupKernel& m) {
      return m.timed->name == plan_.baseline ? 0 : m.timed->name == "plain" ? 1 : 2;
    };
    for (const GroupKernel& m : kernels_)
      if (!m.refusal && (found == nullptr || std::pair(rank(m), m.timed->name) <
                                                 std::pair(rank(*found), found->timed->name)))
        found = &m;
    return found;
  }

  void enter(std::vector<Contestant>& contestants, const GroupKernel& m, Role role,
             bool unfused = false) {
    const Candidate& c = *m.timed;
    KernelPlan plan = m.plan;
    plan.unfused = unfused;
    announce(c.name);
    Contestant e = contestant_of(
        c.name, threads_, [&](int thread) { return memory_.kernel_cell(*c.kernel, plan, thread); });
    e.has_own_threads = has_own_threads(c.kernel->exceptions);
    TimingRow& row = e.cell().row;
    row.kernel = c.name + std::string(unfused ? unfused_suffix : "");
    row.summary = (unfused ? "one pass after the other; " : "") + c.summary;
    row.role = role;
    if (role == Role::null_twin) row.kernel += twin_suffix;
    contestants.push_back(std::move(e));
  }

  void enter_all(std::vector<Contestant>& contestants) {
    const GroupKernel* base = baseline();
    if (base == nullptr) return;
    const auto is_unfused = [&](const GroupKernel& m) {
      return m.plan.may_be_unfused && plan_.device == nullptr;
    };
    enter(contestants, *base, Role::baseline, is_unfused(*base));
    enter(contestants, *base, Role::null_twin, is_unfused(*base));
    for (const GroupKernel& m : kernels_) {
      if (m.refusal) continue;
      if (&m != base && is_unfused(m)) enter(contestants, m, Role::kernel, true);
      if (&m != base || is_unfused(m)) enter(contestants, m, Role::kernel);
    }
    for (auto& cell : memory_.floor_cells())
      contestants.push_back(contestant_of("", 1, [&](int) { return std::move(cell); }));
    const auto found = plan_.ceilings.find(workload_.name);
    const bool is_picked = found != plan_.ceilings.end() && plan_.device == nullptr;
    for (const std::string& variant : is_picked ? found->second : std::vector<std::string>{""})
      contestants.push_back(contestant_of(
          "", threads_, [&](int thread) { return memory_.ceiling_cell(variant, thread); }));
    for (Contestant& e : contestants) {
      e.cell().row.board = board();
      e.call_s = call_s_[e.cell().row.kernel];
    }
  }

  void hand_out(const std::vector<Contestant>& contestants) const {
    if (!plan_.on_row) return;
    for (const GroupKernel& m : kernels_) {
      if (!m.refusal) continue;
      TimingRow row = known_row(workload_, m.plan.table);
      row.board = board();
      memory_.name_device(row);
      row.kernel = m.timed->name;
      row.summary = m.timed->summary;
      row.launch = plan_.launch;
      row.threads = threads_;
      row.outcome = m.refusal->outcome;
      row.reason = m.refusal->reason;
      plan_.on_row(row);
    }
    for (const Contestant& e : contestants) plan_.on_row(e.cell().row);
  }

  /// A kernel's release() is its code too, so it is watched.
  void drop(std::vector<Contestant>& contestants, ProcessWatch& watch) const {
    for (Contestant& e : contestants) {
      announce(e.owner);
      watch.about(e.cell().kernel());
      for (auto& cell : e.cells)
        if (const auto failed = harness::failure_of([&] { cell->release(); }))
          throw std::runtime_error(failed->text);
      watch.accept_output();
      watch.check("release");
      e.cells.clear();
    }
    contestants.clear();
    announce("");
  }

  void announce(const std::string& owner) const {
    if (plan_.now_running) plan_.now_running(owner.empty() ? "" : owner + "|" + workload_.name);
  }

  const PairedPlan& plan_;
  const Workload& workload_;
  GroupMemory& memory_;
  int threads_;
  Oracle& oracle_;
  std::set<std::string>& steady_;
  std::vector<GroupKernel> kernels_;
  // Of the placements before, by the name of the row.
  std::map<std::string, TimingRow> rows_;
  std::map<std::string, double> call_s_;
  std::uint64_t random_ = fresh_seed();
};

/// The kernels that accept a workload, in groups: those that read tables and those that compute. A
/// process times those of a device or those of the host.
std::vector<std::vector<Group::GroupKernel>> groups_on(const PairedPlan& plan, const Workload& w) {
  std::vector<std::vector<Group::GroupKernel>> groups(2);
  ProcessWatch watch(plan.device != nullptr);
  for (const Candidate& c : plan.kernels) {
    if (plan.now_running) plan.now_running(c.name + "|" + w.name);
    if (is_on_device(c) != (plan.device != nullptr)) continue;
    watch.about(c.kernel);
    const KernelPlan kernel_plan = plan_of(c, w);
    watch.check("supports");
    const std::string& why = kernel_plan.refused;
    if (kernel_plan.supported || !why.empty())
      groups[kernel_plan.table ? 0 : 1].push_back(
          {&c, kernel_plan,
           why.empty() ? refusal_of(c, w) : bench::Refusal{Outcome::skipped, why}});
  }
  if (plan.now_running) plan.now_running("");
  std::erase_if(groups, [](const auto& kernels) { return kernels.empty(); });
  return groups;
}

/// The time of a plan, shared out in equal parts.
class Shares {
 public:
  Shares(double all_s, std::int64_t parts) : all_s_(all_s), parts_(parts) {}
  /// When the next part ends; empty: time does not count.
  RoundsOf::Until next() {
    if (all_s_ <= 0) return {};
    const std::chrono::duration<double> all(all_s_), gone = Clock::now() - began_;
    const auto share = (all - gone) / static_cast<double>(std::max<std::int64_t>(parts_--, 1));
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(share);
  }

 private:
  Clock::time_point began_ = Clock::now();
  double all_s_;
  std::int64_t parts_;
};

int run_groups(const PairedPlan& plan) {
  struct Next {
    const Workload& workload;
    std::vector<Group::GroupKernel> kernels;
    int threads;
  };
  std::vector<Next> to_run;
  bool any = false;
  for (const Workload& workload : plan.workloads)
    for (const auto& kernels : groups_on(plan, workload)) {
      any = true;
      std::string board = board_of(workload, kernels.front().plan.table ? "table" : "computed");
      if (plan.device != nullptr) board += device_board;
      for (const int threads : std::set{1, plan.threads})
        if (!plan.done.contains(group_name(workload.name, board, threads)))
          to_run.push_back({workload, kernels, threads});
    }
  std::optional<DeviceModule> module;
  if (plan.device != nullptr) module.emplace(*plan.device);
  Shares shares(plan.launch_s, std::ssize(to_run));
  Oracle oracle;
  std::set<std::string> steady;
  std::unique_ptr<GroupMemory> memory;
  for (const Next& next : to_run) {
    if (memory == nullptr || &memory->workload() != &next.workload) {
      memory.reset();
      if (module)
        memory = std::make_unique<DeviceGroupMemory>(next.workload, plan.seed, *module);
      else
        memory = std::make_unique<HostGroupMemory>(next.workload, plan.seed, plan.threads);
    }
    Group(plan, *memory, next.threads, oracle, steady, next.kernels).run(shares.next());
  }
  return any ? 0 : 3;
}

}  // namespace

std::string group_name(const std::string& workload, const std::string& board,
                       std::int64_t threads) {
  return fmt::format("{}|{}|{}", workload, board, threads);
}

int run_paired(const PairedPlan& plan) {
  const std::uint64_t offset = seed_of(plan, "stack") % (stack_page / stack_step) * stack_step;
  return at_stack_offset(plan.launch == 0 ? 0 : offset, [&] { return run_groups(plan); });
}

int pick_ceilings(const PairedPlan& plan) {
  Shares shares(plan.launch_s, std::ssize(plan.workloads));
  std::set<std::string> steady;
  for (const Workload& workload : plan.workloads) {
    HostGroupMemory host(workload, plan.seed, 1);
    const auto loops = is_in_place(workload) ? update_loops() : copy_loops();
    std::vector<Contestant> contestants;
    for (const CeilingLoop& loop : loops)
      contestants.push_back(
          contestant_of("", 1, [&](int thread) { return host.ceiling_cell(loop.name, thread); }));
    Oracle oracle;
    Crew alone;
    ProcessWatch watch;
    RoundsOf of{host, workload.name, steady, shares.next()};
    if (time_rounds(plan, of, alone, contestants, oracle, watch) != nullptr) continue;
    std::ranges::sort(contestants, {},
                      [](const Contestant& e) { return e.cell().row.ns_per_token_median; });
    constexpr double chance = 2;  // beside others, no loop gained as much on another
    for (const bool past_caches : {false, true}) {
      const auto best = std::ranges::find(contestants, past_caches, [](const Contestant& e) {
        return goes_past_caches(e.cell().row.variant);
      });
      if (best == contestants.end() || !plan.on_row) continue;
      const double fastest = contestants.front().cell().row.ns_per_token_median;
      if (best->cell().row.ns_per_token_median <= chance * fastest) plan.on_row(best->cell().row);
    }
  }
  if (plan.now_running) plan.now_running("");
  return 0;
}

}  // namespace ropewalk::bench
