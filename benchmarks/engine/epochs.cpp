#include "benchmarks/engine/epochs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>

#include "base/fingerprint.h"
#include "benchmarks/cells/random.h"
#include "benchmarks/engine/pauses.h"
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

// A kernel may be slow at first. Each makes this many calls before it counts, but takes no longer
// than so many epochs; if it then seems far slower than the fastest, it gets more time for them.
constexpr std::int64_t warm_calls = 100;
constexpr double warm_epochs = 100, warm_epochs_if_slow = 2000, seems_slow = 3;
// A start that takes less is not told: it is that of caches and clock rates.
constexpr double slow_start = 5;
constexpr std::int64_t told_calls = 8;
// The first rounds against the last ones, beside the others' (docs/decisions/0049).
constexpr double late_step = 1.5;

// In epochs of at least this many calls, one more call is made first, untimed.
constexpr std::int64_t warm_up_from = 8;
constexpr std::size_t judged_one_in = 8, fewest_judged = 4;
constexpr std::uint64_t large_fresh_one_in = 4;
constexpr int spins = 21;  // samples, which take 4 ms

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
  GroupRounds(const PairedPlan& plan, const RoundsOf& of, Crew& crew,
              std::vector<Entrant>& entrants, ProcessWatch& watch)
      : plan_(plan),
        memory_(of.memory),
        crew_(crew),
        entrants_(entrants),
        watch_(watch),
        order_seed_(seed_of(plan, of.name)),
        adds_calls_(is_in_place(of.memory.workload()) && !entrants.front().cell().own_calls()) {}

  Entrant* run(Oracle& oracle) {
    for (Entrant& e : entrants_)
      if (!get_ready(e) || !settle(e, warm_epochs)) return &e;
    double least_s = entrants_.front().call_s;
    for (const Entrant& e : entrants_) least_s = std::min(least_s, e.call_s);
    for (Entrant& e : entrants_)
      if (e.call_s > seems_slow * least_s && !settle(e, warm_epochs_if_slow)) return &e;
    memory_.begin_group();
    const double stolen_before_ms = stolen_ms(), spin_ns_before = spin_probe(spins).ns_a_step;
    for (const bool again : {false, true}) {
      choose_calls();
      if (Entrant* refused = run_rounds(oracle)) return refused;
      if (again || !note_late_ones()) break;
      for (Entrant& e : entrants_) e.forget_rounds();
    }
    for (Entrant& e : entrants_)
      if (!together(e, [](Cell& cell, int) { cell.end_rounds(); }) ||
          !rests_after_calls(e, crew_, watch_, next_random(random_)) ||
          !rests_between_calls(e, entrants_.front(), crew_, watch_, next_random(random_)))
        return &e;
    finish(stolen_ms() - stolen_before_ms, spin_ns_before);
    return nullptr;
  }

 private:
  void announce(const Entrant& e) const {
    watch_.about(e.cell().kernel());
    if (!plan_.now_running) return;
    // The variants of a ceiling share a label, which would look like a hang.
    const TimingRow& row = e.cell().row;
    plan_.now_running(e.cell().label() + (row.is_ceiling() ? "|" + row.variant : ""));
  }

  Entrant* run_rounds(Oracle& oracle) {
    const auto orders =
        shortened(round_orders(static_cast<int>(entrants_.size()), plan_.rounds, order_seed_));
    const std::vector<bool> judged = judged_rounds(orders.size());
    for (std::size_t round = 0; round < orders.size(); ++round) {
      const bool last = round + 1 == orders.size();
      const bool fresh = memory_.refreshes_always() || last || one_in(large_fresh_one_in);
      if (fresh) {
        const std::uint64_t seed = next_random(random_);
        crew_.run([&](int i) { memory_.refresh(i, seed + static_cast<std::uint64_t>(i)); });
      }
      const bool even = adds_calls_ && !last && one_in(2);
      for (const int i : orders[round]) {
        Entrant& e = entrants_[static_cast<std::size_t>(i)];
        if (!epoch(e, {fresh, judged[round], even}, oracle)) return &e;
      }
    }
    return nullptr;
  }

  /// Which rounds are judged: some of them by chance, and the last, so that a lasting error is
  /// seen.
  std::vector<bool> judged_rounds(std::size_t rounds) {
    std::vector<bool> judged(rounds, false);
    judged.back() = true;
    const std::size_t wanted = std::min(std::max(rounds / judged_one_in, fewest_judged), rounds);
    for (std::size_t chosen = 1; chosen < wanted;) {
      const std::size_t round = next_random(random_) % rounds;
      if (judged[round]) continue;
      judged[round] = true;
      ++chosen;
    }
    return judged;
  }

  /// Runs task(cell, member) for each cell of a contestant at the same time. Returns nothing if one
  /// refused.
  template <class Task>
  std::optional<Crew::Time> together(Entrant& e, Task&& task) {
    const auto share = [&](int i) { task(*e.cells[static_cast<std::size_t>(i)], i); };
    const auto all = [&] {
      for (int i = 0; i < crew_.size(); ++i) share(i);
    };
    Crew::Time time =
        e.has_own_threads ? crew_.run_alone(std::ref(all)) : crew_.run(std::ref(share));
    for (const auto& cell : e.cells) {
      if (!cell->refusal && cell->keeps_arguments()) continue;
      take_refusal(e, *cell);
      return {};
    }
    if (const auto own_s = e.cell().own_s()) time.wall_s = *own_s;
    return time;
  }

  static void take_refusal(Entrant& e, const Cell& of) {
    e.cell().refusal = of.refusal;
    if (of.is_fatal) throw std::runtime_error(of.refusal->reason);
  }

  bool get_ready(Entrant& e) {
    announce(e);
    bool are_ready = true;  // in turn, each on its thread: only apply has to be thread-safe
    for (int one = 0; one < crew_.size() && are_ready; ++one)
      are_ready = together(e, [&](Cell& cell, int member) {
                    if (member == one) cell.ready();
                  }).has_value();
    watch_.check_printing("prepare");
    return are_ready;
  }

  /// Makes calls until there are warm_calls, and an epoch's time has passed, but none after so many
  /// epochs. Takes the time of a call from the last half of all, the least, since other processes
  /// disturb it.
  bool settle(Entrant& e, double epochs) {
    announce(e);
    if (const auto own = e.cell().own_calls()) return settle_by_own_clock(e, *own);
    double took = 0;
    for (std::int64_t calls = 0;
         took < epochs * plan_.epoch_s && (calls < warm_calls || took < plan_.epoch_s);) {
      const std::int64_t more = std::clamp(calls / 8, std::int64_t{1}, most_calls);
      const auto time = together(e, [&](Cell& cell, int) { cell.run({more}); });
      if (!time) return false;
      took += time->wall_s;
      calls += more;
      e.warm_ups.push_back({more, std::max(time->wall_s / static_cast<double>(more), 1e-9)});
    }
    watch_.check("apply");
    e.call_s = std::numeric_limits<double>::infinity();
    for (std::size_t i = e.warm_ups.size() / 2; i < e.warm_ups.size(); ++i)
      e.call_s = std::min(e.call_s, e.warm_ups[i].call_s);
    std::int64_t slow = 0;
    double slow_s = 0;
    for (const Entrant::WarmUp& each : e.warm_ups) {
      if (each.call_s < 2 * e.call_s) break;
      slow += each.calls;
      slow_s += each.call_s * static_cast<double>(each.calls);
    }
    if (slow > 0) note_start(e, slow, slow_s / static_cast<double>(slow) / e.call_s);
    return true;
  }

  /// By a cell's own clock: ever more calls, until they fill an epoch, and some epochs of them.
  bool settle_by_own_clock(Entrant& e, const Cell::Calls& own) {
    constexpr int epochs = 5;
    std::int64_t calls = own.step;
    for (int full = 0; full < epochs;) {
      const auto time = together(e, [&](Cell& cell, int) { cell.ready() && cell.run({calls}); });
      if (!time) return false;
      e.call_s = std::max(time->wall_s / static_cast<double>(calls), 1e-9);
      const bool is_full = time->wall_s >= plan_.epoch_s || calls + own.step > own.most;
      is_full ? ++full : calls = std::min(2 * calls, own.most / own.step * own.step);
    }
    watch_.check("apply");
    return true;
  }

  static void note_start(Entrant& e, std::int64_t calls, double times) {
    if (calls < told_calls || times < slow_start) return;
    e.cell().row.slow_calls = calls;
    e.cell().row.slow_times = times;
  }

  /// Finds contestants whose first rounds took longer than the later ones, while the others' did
  /// not, and notes that in their rows. Returns whether there are any: then the rounds tell two
  /// things.
  bool note_late_ones() {
    std::vector<double> steps, sorted;
    for (const Entrant& e : entrants_) steps.push_back(step_of(e.cell().row.ns_per_token));
    sorted = steps;
    std::nth_element(sorted.begin(), sorted.begin() + std::ssize(sorted) / 2, sorted.end());
    const double usual = std::max(sorted[sorted.size() / 2], 1.0);
    bool any = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Entrant& e = entrants_[i];
      TimingRow& row = e.cell().row;
      if (row.is_reference() || steps[i] < late_step * usual) continue;
      any = true;
      std::int64_t calls = 0;
      for (const Entrant::WarmUp& each : e.warm_ups) calls += each.calls;
      const double later = later_median(row.ns_per_token);
      for (std::size_t k = 0; k < row.iterations.size() && row.ns_per_token[k] > 1.25 * later; ++k)
        calls += row.iterations[k];
      row.slow_calls = calls;
      row.slow_times = steps[i];
      entrants_[i].call_s = later * static_cast<double>(row.tokens * crew_.size()) * 1e-9;
    }
    return any;
  }

  /// Chooses one number of calls for all contestants. A round takes about as many epochs as there
  /// are contestants. The fastest contestant still runs for least_epoch_share of an epoch, so that
  /// the clock resolves it. The number is odd, so that an alternating kernel ends turned forward;
  /// some rounds make one call more, so that others end turned back. A contestant gets fewer calls
  /// if it is far_slower than the baseline, which comes first, and would take longest_epoch.
  /// With clocks of their own, the fastest runs for a whole epoch. Floors have their own number.
  void choose_calls() {
    if (const auto own = entrants_.front().cell().own_calls()) {
      double fastest_s = entrants_.front().call_s;
      for (const Entrant& e : entrants_)
        if (!e.cell().row.is_floor()) fastest_s = std::min(fastest_s, e.call_s);
      const std::int64_t most = (own->most / own->step - 1) | 1;
      // In place an odd number of steps ends turned forward.
      const auto calls_for = [&](double call_s, double epochs) {
        const double steps =
            std::ceil(epochs * plan_.epoch_s / call_s / static_cast<double>(own->step));
        return std::min(static_cast<std::int64_t>(std::min(steps, 1e6)) | 1, most) * own->step;
      };
      for (Entrant& e : entrants_)
        e.calls = e.cell().row.is_floor()
                      ? calls_for(e.call_s, 1)
                      : std::min(calls_for(fastest_s, 1), calls_for(e.call_s, longest_epoch));
      return;
    }
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

  struct Round {
    bool fresh, judged;
    bool even;  ///< one call more, where there are enough
  };

  /// Makes the calls of an epoch on every thread, from fresh buffers or from what was left. Returns
  /// nothing if one refused.
  std::optional<Crew::Time> make_epoch(Entrant& e, std::int64_t calls, bool fresh) {
    const bool warms = e.calls >= warm_up_from && !e.cell().own_calls();
    std::vector<Epoch> epochs(e.cells.size());
    std::vector<std::uint64_t> seeds(e.cells.size());
    for (std::uint64_t& seed : seeds) seed = next_random(random_);
    const auto made_ready = together(e, [&](Cell& cell, int member) {
      if (warms && !(cell.ready(false) && cell.run({}))) return;
      // In every fresh round the outputs are NaN, so that a kernel cannot tell a judged round.
      const auto i = static_cast<std::size_t>(member);
      if (cell.ready(fresh)) epochs[i] = cell.draw_epoch(calls, seeds[i]);
    });
    if (!made_ready) return {};
    watch_.begin();
    const auto time = together(
        e, [&](Cell& cell, int member) { cell.run(epochs[static_cast<std::size_t>(member)]); });
    watch_.end(!time);
    return time;
  }

  bool epoch(Entrant& e, const Round& round, Oracle& oracle) {
    announce(e);
    const std::int64_t calls = e.calls + (e.calls > 1 && round.even ? 1 : 0);
    const auto time = make_epoch(e, calls, round.fresh);
    if (!time) return false;
    TimingRow& row = e.cell().row;
    const double tokens = static_cast<double>(row.tokens) * crew_.size();
    row.ns_per_token.push_back(time->wall_s * 1e9 / static_cast<double>(calls) / tokens);
    row.iterations.push_back(calls);
    row.involuntary_switches += time->involuntary_switches;
    row.page_faults += watch_.page_faults();
    e.switches += watch_.switches();
    e.heap_calls += watch_.heap_calls();
    e.mapped_bytes += watch_.mapped_bytes();
    e.called += calls * crew_.size();
    if (!e.has_own_threads) e.wall_s += time->wall_s * crew_.size();
    e.cpu_s += time->cpu_s;
    if (!round.judged || row.is_reference()) return true;
    const auto judged = static_cast<std::uint64_t>(row.reverified++);
    return holds(e, judged, oracle) && ends_early(e, round.fresh) && holds(e, judged, oracle) &&
           (!may_hide_work(e) || rests_after_calls(e, crew_, watch_, next_random(random_)));
  }

  /// Another epoch, untimed, of any number of calls, as a kernel cannot leave out all but the last.
  bool ends_early(Entrant& e, bool fresh) {
    const std::int64_t most = one_in(2) ? e.calls : std::min(e.calls, Cell::few_calls);
    const auto calls = static_cast<std::int64_t>(next_random(random_) % std::uint64_t(most));
    return make_epoch(e, calls + 1, fresh).has_value();
  }

  /// Judges the outputs of one thread, on that thread: any at first, then the next.
  bool holds(Entrant& e, std::uint64_t judged, Oracle& oracle) {
    const auto i = static_cast<std::size_t>((first_judged_ + judged) % e.cells.size());
    crew_.run([&, seed = next_random(random_)](int member) {
      if (member == static_cast<int>(i)) e.cells[i]->judge(oracle, seed);
    });
    take_refusal(e, *e.cells[i]);
    watch_.check("apply");  // the calls that were judged are this kernel's own
    return !e.cell().refusal;
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
      if (const rope_kernel* kernel = e.cell().kernel();
          kernel != nullptr && kernel->exceptions != 0)
        row.context_switches = static_cast<double>(e.switches) / static_cast<double>(e.called);
      row.off_cpu_share = e.wall_s > 0 ? std::max(0.0, 1 - e.cpu_s / e.wall_s) : 0;
      take_medians(row);
      memory_.end_group(row);
    }
  }

  const PairedPlan& plan_;
  GroupMemory& memory_;
  Crew& crew_;
  std::vector<Entrant>& entrants_;
  ProcessWatch& watch_;
  std::uint64_t order_seed_, random_ = fresh_seed(), first_judged_ = next_random(random_);
  bool adds_calls_;
};

}  // namespace

void Entrant::forget_rounds() {
  TimingRow& row = cell().row;
  row.ns_per_token.clear();
  row.iterations.clear();
  row.involuntary_switches = row.page_faults = 0;
  heap_calls = mapped_bytes = switches = called = 0;
  wall_s = cpu_s = 0;
}

std::uint64_t seed_of(const PairedPlan& plan, const std::string& name) {
  return seed_of_name(plan.seed ^ (static_cast<std::uint64_t>(plan.launch) << 32), name);
}

Entrant* time_rounds(const PairedPlan& plan, const RoundsOf& of, Crew& crew,
                     std::vector<Entrant>& entrants, Oracle& oracle, ProcessWatch& watch) {
  return GroupRounds(plan, of, crew, entrants, watch).run(oracle);
}

}  // namespace ropewalk::bench
