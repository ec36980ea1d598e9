#include "benchmarks/engine/epochs.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/fingerprint.h"
#include "benchmarks/engine/rounds.h"
#include "benchmarks/machine/probes.h"
#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {
using namespace report;
namespace {

constexpr double least_epoch_share = 0.05;  // of epoch_s: the least time of the fastest contestant
constexpr double slow_factor = 20;          // times the fastest: a slower contestant counts as this
constexpr double far_slower = 8;            // times the baseline
constexpr double longest_epoch = 20;        // of epoch_s: a slower contestant gets fewer calls
constexpr std::int64_t most_calls = 10'000'000;
// In epochs of at least this many calls, one more call is made first, untimed.
constexpr std::int64_t warm_up_from = 8;
constexpr std::int64_t refill_up_to_bytes = std::int64_t{32} << 20;
constexpr std::uint64_t judged_one_in = 8;
constexpr std::uint64_t large_fresh_one_in = 4, large_judged_one_in = 2;  // of the fresh rounds
// Number of samples, which take 4 ms.
constexpr int spins = 21;

/// Time in ms that a hypervisor took from all processors; 0 if the system does not tell.
double stolen_ms() {
  std::FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return 0;
  long long ticks = 0;  // user nice system idle iowait irq softirq steal
  const int found = std::fscanf(file, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks);
  std::fclose(file);
  return found == 1 ? static_cast<double>(ticks) * 10 : 0;  // USER_HZ is 100
}

/// The rounds of all contestants on one workload.
class GroupRounds {
 public:
  GroupRounds(const PairedPlan& plan, const RoundsOf& of, Sets& sets, Crew& crew,
              std::vector<Entrant>& entrants, ProcessWatch& watch)
      : plan_(plan),
        sets_(sets),
        crew_(crew),
        entrants_(entrants),
        watch_(watch),
        order_seed_(seed_of(plan, of.name)),
        refills_(ceiling_working_set_bytes(of.workload) <= refill_up_to_bytes) {}

  Entrant* run(Oracle& oracle) {
    for (Entrant& e : entrants_)
      if (!calibrate(e)) return &e;
    choose_calls();
    const auto orders =
        shortened(round_orders(static_cast<int>(entrants_.size()), plan_.rounds, order_seed_));
    const double stolen_before_ms = stolen_ms(), spin_ns_before = spin_probe(spins).ns_a_step;
    for (std::size_t round = 0; round < orders.size(); ++round) {
      // The last round is judged, so that a lasting error is seen.
      const bool last = round + 1 == orders.size();
      const bool fresh = refills_ || one_in(large_fresh_one_in) || last;
      const bool judged = (fresh && one_in(refills_ ? judged_one_in : large_judged_one_in)) || last;
      if (fresh) {
        const std::uint64_t seed = next_random(random_);
        crew_.run([&](int i) { set(i).refresh(seed + static_cast<std::uint64_t>(i)); });
      }
      for (const int i : orders[round]) {
        Entrant& e = entrants_[static_cast<std::size_t>(i)];
        if (!epoch(e, fresh, judged, oracle)) return &e;
      }
    }
    finish(stolen_ms() - stolen_before_ms, spin_ns_before);
    return nullptr;
  }

 private:
  void announce(const Entrant& e) const {
    if (!plan_.now_running) return;
    // The variants of a ceiling share a label, and a label that never changes would look like a
    // hang.
    const TimingRow& row = e.cell().row;
    plan_.now_running(e.cell().label() + (row.is_ceiling() ? "|" + row.variant : ""));
  }

  WorkloadData& set(int member) { return sets_[static_cast<std::size_t>(member)].here(); }

  /// Runs task(cell, member) for each cell of a contestant at the same time. Returns nothing if one
  /// refused.
  template <class Task>
  std::optional<Crew::Time> together(Entrant& e, Task&& task) {
    const Crew::Time time =
        crew_.run([&](int i) { task(*e.cells[static_cast<std::size_t>(i)], i); });
    for (const auto& cell : e.cells) {
      if (!cell->refusal && cell->keeps_arguments()) continue;
      e.cell().refusal = cell->refusal;
      return {};
    }
    return time;
  }

  /// Measures the time of one call from runs of more and more calls. The least of several counts,
  /// since other processes disturb them.
  bool calibrate(Entrant& e) {
    announce(e);
    // One after the other, each on its thread: only apply has to be thread-safe.
    bool are_ready = true;
    for (int one = 0; one < crew_.size() && are_ready; ++one)
      are_ready = together(e, [&](Cell& cell, int member) {
                    if (member == one) cell.ready();
                  }).has_value();
    watch_.check_printing("prepare");
    if (!are_ready) return false;
    std::int64_t calls = 1;
    e.call_s = std::numeric_limits<double>::infinity();
    for (int good = 0; good < 3;) {
      const auto time = together(e, [&](Cell& cell, int) { cell.run(calls); });
      if (!time) return false;
      const double took = time->wall_s;
      e.call_s = std::min(e.call_s, std::max(took / static_cast<double>(calls), 1e-9));
      if (took > plan_.epoch_s / 5 || calls >= most_calls / 4)
        ++good;
      else
        calls *= 4;
      if (took > longest_epoch * plan_.epoch_s) break;
    }
    watch_.check("apply");
    return true;
  }

  /// Chooses one number of calls for all contestants. A round takes about as many epochs as there
  /// are contestants. The fastest contestant still runs for least_epoch_share of an epoch, so that
  /// the clock resolves it. The number is odd, so that an alternating kernel ends turned forward. A
  /// contestant gets fewer calls if it is far_slower than the baseline, which comes first, and
  /// would take longest_epoch.
  void choose_calls() {
    const double base_s = entrants_.front().call_s;
    double least_s = base_s, sum_s = 0;
    for (const Entrant& e : entrants_) least_s = std::min(least_s, e.call_s);
    for (const Entrant& e : entrants_) sum_s += std::min(e.call_s, slow_factor * least_s);
    const double shared = plan_.epoch_s * static_cast<double>(entrants_.size()) / sum_s;
    const double least = plan_.epoch_s * least_epoch_share / least_s;
    const double calls = std::clamp(std::max(shared, least), 1.0, double(most_calls));
    for (Entrant& e : entrants_) {
      const bool slow = e.call_s > far_slower * base_s && !e.cell().row.is_twin();
      const double most = std::max(longest_epoch * plan_.epoch_s / e.call_s, 1.0);
      e.calls = static_cast<std::int64_t>(slow ? std::min(calls, most) : calls) | 1;
    }
  }

  std::vector<std::vector<int>> shortened(std::vector<std::vector<int>> orders) const {
    double round_s = 0;
    for (const Entrant& e : entrants_) round_s += e.call_s * static_cast<double>(e.calls);
    const auto affordable = static_cast<std::int64_t>(plan_.group_s / round_s);
    // Fewer rounds give no interval: least_rounds() of reports/numbers/claims.h, for as many claims
    // or one more.
    const auto fewest = static_cast<std::int64_t>(6 + std::bit_width(entrants_.size()));
    const auto most = static_cast<std::size_t>(std::max(affordable, fewest));
    if (orders.size() > most) orders.resize(most);
    return orders;
  }

  bool one_in(std::uint64_t count) { return next_random(random_) % count == 0; }

  bool epoch(Entrant& e, bool fresh, bool judged, Oracle& oracle) {
    announce(e);
    const bool warms = e.calls >= warm_up_from;
    const auto made_ready = together(e, [&](Cell& cell, int member) {
      if (warms && !(cell.ready(false) && cell.run(1))) return;
      // Poisoned in every fresh round, so that a kernel cannot tell a judged round.
      if (cell.ready(fresh) && fresh) set(member).poison();
    });
    if (!made_ready) return false;
    watch_.begin(e.cell().kernel());
    const auto time = together(e, [&](Cell& cell, int) { cell.run(e.calls); });
    watch_.end(!time);
    if (!time) return false;
    TimingRow& row = e.cell().row;
    const double tokens = static_cast<double>(row.tokens) * crew_.size();
    row.ns_per_token.push_back(time->wall_s * 1e9 / static_cast<double>(e.calls) / tokens);
    row.iterations.push_back(e.calls);
    row.involuntary_switches += time->involuntary_switches;
    row.page_faults += time->page_faults;
    e.heap_calls += watch_.heap_calls();
    e.mapped_bytes += watch_.mapped_bytes();
    e.called += e.calls * crew_.size();
    e.wall_s += time->wall_s * crew_.size();
    e.cpu_s += time->cpu_s;
    return !judged || holds(e, oracle);
  }

  /// Judges the outputs of one thread, chosen at random.
  bool holds(Entrant& e, Oracle& oracle) {
    Cell& cell = *e.cells[next_random(random_) % e.cells.size()];
    if (cell.judge(oracle, next_random(random_))) ++e.cell().row.reverified;
    e.cell().refusal = cell.refusal;
    watch_.check("apply");  // the calls that were judged are this kernel's own
    return !cell.refusal;
  }

  void finish(double stolen, double spin_ns_before) {
    const double spin_ns_after = spin_probe(spins).ns_a_step;
    for (Entrant& e : entrants_) {
      TimingRow& row = e.cell().row;
      row.outcome = Outcome::measured;
      row.launch = plan_.launch;
      row.threads = crew_.size();
      row.processors = crew_.processors();
      row.steal_ms = stolen;
      row.spin_ns_before = spin_ns_before;
      row.spin_ns_after = spin_ns_after;
      row.heap_calls = static_cast<double>(e.heap_calls) / static_cast<double>(e.called);
      row.mapped_bytes = static_cast<double>(e.mapped_bytes) / static_cast<double>(e.called);
      row.off_cpu_share = e.wall_s > 0 ? std::max(0.0, 1 - e.cpu_s / e.wall_s) : 0;
      take_medians(row);
    }
  }

  const PairedPlan& plan_;
  Sets& sets_;
  Crew& crew_;
  std::vector<Entrant>& entrants_;
  ProcessWatch& watch_;
  std::uint64_t order_seed_, random_ = fresh_seed();
  bool refills_;
};

}  // namespace

std::uint64_t seed_of(const PairedPlan& plan, const std::string& name) {
  return seed_of_name(plan.seed ^ (static_cast<std::uint64_t>(plan.launch) << 32), name);
}

Entrant* time_rounds(const PairedPlan& plan, const RoundsOf& of, Sets& sets, Crew& crew,
                     std::vector<Entrant>& entrants, Oracle& oracle, ProcessWatch& watch) {
  return GroupRounds(plan, of, sets, crew, entrants, watch).run(oracle);
}

}  // namespace ropewalk::bench
