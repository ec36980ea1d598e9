#include "benchmarks/paired.h"

#include <alloca.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <utility>

#include "benchmarks/ceilings.h"
#include "benchmarks/cells.h"
#include "benchmarks/rounds.h"
#include "benchmarks/traffic.h"
#include "benchmarks/workload_data.h"

namespace ropewalk {
namespace {

constexpr double least_epoch_share = 0.05;  // of epoch_s: what the fastest contestant gets at least
constexpr double slow_factor = 20;          // slower than this times the fastest counts as this
constexpr double far_slower = 8;            // than the baseline
constexpr double longest_epoch = 20;        // of epoch_s: who would take longer gets fewer calls
constexpr std::int64_t most_calls = 10'000'000;
constexpr std::int64_t fewest_rounds = 6;  // fewer give no interval
constexpr std::int64_t warm_up_from = 8;   // calls of an epoch; one more is untimed then
constexpr std::int64_t refill_up_to_bytes = std::int64_t{32} << 20;
constexpr std::uint64_t judged_one_in = 8;

double seconds_on(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Ticks of all processors that a hypervisor gave to others; 0 where it is not told.
double stolen_ms() {
  std::FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return 0;
  long long ticks = 0;  // user nice system idle iowait irq softirq steal
  const int found = std::fscanf(file, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks);
  std::fclose(file);
  return found == 1 ? static_cast<double>(ticks) * 10 : 0;  // USER_HZ is 100
}

/// One who is timed, or was to be.
struct Entrant {
  std::unique_ptr<Cell> cell;
  std::string owner;       ///< the contestant it belongs to: a twin's is its kernel
  double call_s = 0;       ///< of one call, about
  std::int64_t calls = 1;  ///< of an epoch
  double wall_s = 0, cpu_s = 0;
};

std::uint64_t seed_of(const PairedPlan& plan, const std::string& name) {
  std::uint64_t seed = plan.seed ^ (static_cast<std::uint64_t>(plan.launch) << 32);
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

/// The rounds of some cells on one workload.
class Rounds {
 public:
  Rounds(const PairedPlan& plan, const Workload& workload, LazyData& data,
         std::vector<Entrant>& entrants, const std::string& name)
      : plan_(plan),
        data_(data),
        entrants_(entrants),
        random_(seed_of(plan, name)),
        refills_(ceiling_working_set_bytes(workload) <= refill_up_to_bytes) {}

  /// NULL when all went well, else who has a refusal now.
  Entrant* run(Oracle& oracle) {
    for (Entrant& e : entrants_)
      if (!calibrate(e)) return &e;
    choose_calls();
    const auto orders = shortened(
        round_orders(static_cast<int>(entrants_.size()), plan_.rounds, next_random(random_)));
    const double stolen_before_ms = stolen_ms();
    for (std::size_t round = 0; round < orders.size(); ++round) {
      const bool judged = is_judged(round, orders.size());
      if (refills_ || judged) data_.here().refresh(next_random(random_));
      for (const int i : orders[round]) {
        Entrant& e = entrants_[static_cast<std::size_t>(i)];
        if (!epoch(e, judged, oracle)) return &e;
      }
    }
    finish(stolen_ms() - stolen_before_ms);
    return nullptr;
  }

 private:
  void announce(const Entrant& e) const {
    if (!plan_.now_running) return;
    // A ceiling's variants share a label: what never changes would look like a hang.
    const TimingRow& row = e.cell->row;
    plan_.now_running(e.cell->label() + (row.is_ceiling() ? "|" + row.variant : ""));
  }

  /// The time of one call, from runs of ever more calls; the least of some, as others disturb them.
  bool calibrate(Entrant& e) const {
    announce(e);
    if (!e.cell->ready()) return false;
    std::int64_t calls = 1;
    e.call_s = std::numeric_limits<double>::infinity();
    for (int good = 0; good < 3;) {
      const double start = seconds_on(CLOCK_MONOTONIC);
      if (!e.cell->run(calls)) return false;
      const double took = seconds_on(CLOCK_MONOTONIC) - start;
      e.call_s = std::min(e.call_s, std::max(took / static_cast<double>(calls), 1e-9));
      if (took > plan_.epoch_s / 5 || calls >= most_calls / 4)
        ++good;
      else
        calls *= 4;
      if (took > longest_epoch * plan_.epoch_s) break;
    }
    return true;
  }

  /// One number for all: a round takes about as many epochs as there are contestants, but the
  /// fastest is never lost in the clock. Odd, so that an alternating kernel ends turned forward.
  /// Who is far slower than the baseline, which comes first, and would take longest_epoch gets
  /// fewer.
  void choose_calls() {
    const double base_s = entrants_.front().call_s;
    double least_s = base_s, sum_s = 0;
    for (const Entrant& e : entrants_) least_s = std::min(least_s, e.call_s);
    for (const Entrant& e : entrants_) sum_s += std::min(e.call_s, slow_factor * least_s);
    const double shared = plan_.epoch_s * static_cast<double>(entrants_.size()) / sum_s;
    const double least = plan_.epoch_s * least_epoch_share / least_s;
    const double calls = std::clamp(std::max(shared, least), 1.0, double(most_calls));
    for (Entrant& e : entrants_) {
      const bool slow = e.call_s > far_slower * base_s && !e.cell->row.is_twin();
      const double most = std::max(longest_epoch * plan_.epoch_s / e.call_s, 1.0);
      e.calls = static_cast<std::int64_t>(slow ? std::min(calls, most) : calls) | 1;
    }
  }

  std::vector<std::vector<int>> shortened(std::vector<std::vector<int>> orders) const {
    double round_s = 0;
    for (const Entrant& e : entrants_) round_s += e.call_s * static_cast<double>(e.calls);
    const auto affordable = static_cast<std::int64_t>(plan_.group_s / round_s);
    const auto most = static_cast<std::size_t>(std::max(affordable, fewest_rounds));
    if (orders.size() > most) orders.resize(most);
    return orders;
  }

  /// The last round is always among them: what went wrong on the way and stayed so is seen.
  bool is_judged(std::size_t round, std::size_t rounds) {
    const bool by_chance = refills_ && next_random(random_) % judged_one_in == 0;
    return by_chance || round + 1 == rounds;
  }

  bool epoch(Entrant& e, bool judged, Oracle& oracle) {
    announce(e);
    Cell& cell = *e.cell;
    if (e.calls >= warm_up_from && !(cell.ready(false) && cell.run(1))) return false;
    if (!cell.ready(refills_ || judged)) return false;
    if (refills_ || judged) data_.here().poison();  // alike: a judged round must not show
    rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    const double cpu_before = seconds_on(CLOCK_THREAD_CPUTIME_ID);
    const auto start = std::chrono::steady_clock::now();
    const bool ran = cell.run(e.calls);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    const double cpu_s = seconds_on(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    getrusage(RUSAGE_THREAD, &after);
    if (!ran) return false;
    TimingRow& row = cell.row;
    row.ns_per_token.push_back(wall.count() * 1e9 / static_cast<double>(e.calls) /
                               static_cast<double>(row.tokens));
    row.iterations.push_back(e.calls);
    row.involuntary_switches += after.ru_nivcsw - before.ru_nivcsw;
    row.page_faults += after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
    e.wall_s += wall.count();
    e.cpu_s += cpu_s;
    if (judged && cell.judge(oracle, next_random(random_))) ++row.reverified;
    return !cell.refusal;
  }

  void finish(double stolen) {
    for (Entrant& e : entrants_) {
      TimingRow& row = e.cell->row;
      row.outcome = "MEASURED";
      row.launch = plan_.launch;
      row.steal_ms = stolen;
      row.off_cpu_share = e.wall_s > 0 ? std::max(0.0, 1 - e.cpu_s / e.wall_s) : 0;
      take_medians(row);
    }
  }

  const PairedPlan& plan_;
  LazyData& data_;
  std::vector<Entrant>& entrants_;
  std::uint64_t random_;
  bool refills_;
};

/// What may be ranked together on one workload: one board.
class Group {
 public:
  struct Member {
    const Contestant* contestant;
    KernelPlan plan;
    Refusal refusal;  ///< why it is not timed; no outcome: it is
  };

  Group(const PairedPlan& plan, const Workload& workload, LazyData& data, Oracle& oracle,
        std::vector<Member> members)
      : plan_(plan),
        workload_(workload),
        data_(data),
        oracle_(oracle),
        members_(std::move(members)) {}

  void run() {
    std::vector<Entrant> entrants;
    for (;;) {
      drop(entrants);
      enter_all(entrants);
      if (entrants.empty()) break;
      Rounds rounds(plan_, workload_, data_, entrants, board());
      Entrant* refused = rounds.run(oracle_);
      if (refused == nullptr) break;
      for (Member& m : members_)  // a ceiling has nobody to blame
        if (m.contestant->name == refused->owner) m.refusal = *refused->cell->refusal;
      if (refused->owner.empty()) {  // its data or memory cannot be had: nobody's can
        for (Member& m : members_)
          if (m.refusal.outcome.empty()) m.refusal = *refused->cell->refusal;
      }
    }
    hand_out(entrants);
    drop(entrants);
  }

  std::string board() const {
    return board_of(workload_, members_.front().plan.table ? "table" : "computed");
  }

 private:
  const Member* baseline() const {
    const Member* found = nullptr;
    const auto rank = [&](const Member& m) {
      return m.contestant->name == plan_.baseline ? 0 : m.contestant->name == "plain" ? 1 : 2;
    };
    for (const Member& m : members_)
      if (m.refusal.outcome.empty() &&
          (found == nullptr || std::pair(rank(m), m.contestant->name) <
                                   std::pair(rank(*found), found->contestant->name)))
        found = &m;
    return found;
  }

  void enter(std::vector<Entrant>& entrants, const Member& m, const std::string& role) {
    const Contestant& c = *m.contestant;
    announce(c.name);
    Entrant e;
    e.owner = c.name;
    e.cell = make_kernel_cell(*c.kernel, m.plan, workload_, data_);
    e.cell->row.kernel = c.name;
    e.cell->row.summary = c.summary;
    e.cell->row.role = role;
    if (role == "null_twin") e.cell->row.kernel += twin_suffix;
    entrants.push_back(std::move(e));
  }

  void enter_all(std::vector<Entrant>& entrants) {
    const Member* base = baseline();
    if (base == nullptr) return;
    enter(entrants, *base, "baseline");
    enter(entrants, *base, "null_twin");
    for (const Member& m : members_)
      if (&m != base && m.refusal.outcome.empty()) enter(entrants, m, "kernel");
    const auto variant = plan_.ceilings.find(workload_.name);
    Entrant ceiling;
    ceiling.cell =
        make_ceiling_cell(workload_, data_, variant == plan_.ceilings.end() ? "" : variant->second);
    ceiling.cell->row.board = board();
    entrants.push_back(std::move(ceiling));
  }

  void hand_out(const std::vector<Entrant>& entrants) const {
    if (!plan_.on_row) return;
    for (const Member& m : members_) {
      if (m.refusal.outcome.empty()) continue;
      auto cell = make_broken_cell(m.refusal.reason, m.plan, workload_, data_);
      cell->row.kernel = m.contestant->name;
      cell->row.summary = m.contestant->summary;
      cell->row.launch = plan_.launch;
      cell->row.outcome = m.refusal.outcome;
      cell->row.reason = m.refusal.reason;
      plan_.on_row(cell->row);
    }
    for (const Entrant& e : entrants) plan_.on_row(e.cell->row);
  }

  /// A kernel's release() is its code too.
  void drop(std::vector<Entrant>& entrants) const {
    for (Entrant& e : entrants) {
      announce(e.owner);
      e.cell.reset();
    }
    entrants.clear();
    announce("");
  }

  void announce(const std::string& owner) const {
    if (plan_.now_running) plan_.now_running(owner.empty() ? "" : owner + "|" + workload_.name);
  }

  const PairedPlan& plan_;
  const Workload& workload_;
  LazyData& data_;
  Oracle& oracle_;
  std::vector<Member> members_;
};

/// The contestants that accept a workload, those that read tables apart from those that compute.
std::vector<std::vector<Group::Member>> groups_on(const PairedPlan& plan, const Workload& w) {
  std::vector<Group::Member> by_table[2];
  for (const Contestant& c : plan.contestants) {
    if (plan.now_running) plan.now_running(c.name + "|" + w.name);
    KernelPlan kernel_plan;
    if (c.kernel != nullptr) kernel_plan = plan_of(*c.kernel, w);
    if (!kernel_plan.supported) continue;
    Refusal refusal;
    if (!c.broken_reason.empty()) refusal = {"BROKEN", c.broken_reason};
    by_table[kernel_plan.table ? 0 : 1].push_back({&c, kernel_plan, refusal});
  }
  if (plan.now_running) plan.now_running("");
  std::vector<std::vector<Group::Member>> out;
  for (auto& members : by_table)
    if (!members.empty()) out.push_back(std::move(members));
  return out;
}

/// Calls what follows with the stack some way down: where it begins moves some loops by percents.
template <class Function>
[[gnu::noinline]] int at_stack_offset(std::size_t bytes, Function&& function) {
  volatile auto* room = static_cast<volatile char*>(alloca(bytes + 16));
  room[0] = 0;
  const int code = function();
  room[bytes] = 0;  // not a tail call: the room stays
  return code;
}

int run_groups(const PairedPlan& plan) {
  bool any = false;
  Oracle oracle;
  for (const Workload& workload : plan.workloads) {
    LazyData data(workload, plan.seed);
    for (auto& members : groups_on(plan, workload)) {
      any = true;
      Group group(plan, workload, data, oracle, std::move(members));
      if (!plan.done.contains(group_name(workload.name, group.board()))) group.run();
    }
  }
  return any ? 0 : 3;
}

}  // namespace

std::string group_name(const std::string& workload, const std::string& board) {
  return workload + "|" + board;
}

int run_paired(const PairedPlan& plan) {
  constexpr std::uint64_t page = 4096, step = 16;
  const std::uint64_t offset = seed_of(plan, "stack") % (page / step) * step;
  return at_stack_offset(plan.launch == 0 ? 0 : offset, [&] { return run_groups(plan); });
}

int pick_ceilings(const PairedPlan& plan) {
  for (const Workload& workload : plan.workloads) {
    LazyData data(workload, plan.seed);
    const auto variants =
        workload.in_place ? update_variants(workload.dtype) : copy_variants(workload.dtype);
    std::vector<Entrant> entrants;
    for (const CeilingVariant& variant : variants) {
      Entrant e;
      e.cell = make_ceiling_cell(workload, data, variant.name);
      entrants.push_back(std::move(e));
    }
    Oracle oracle;
    if (Rounds(plan, workload, data, entrants, workload.name).run(oracle) != nullptr) continue;
    const auto best = std::min_element(entrants.begin(), entrants.end(), [](auto& a, auto& b) {
      return a.cell->row.ns_per_token_median < b.cell->row.ns_per_token_median;
    });
    if (plan.on_row) plan.on_row(best->cell->row);
  }
  if (plan.now_running) plan.now_running("");
  return 0;
}

}  // namespace ropewalk
