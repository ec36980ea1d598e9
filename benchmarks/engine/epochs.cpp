// The protocol of an epoch, which is the calls of one contestant that are timed together.
//
// In a round each contestant has one epoch, and those of about one speed make equally many calls.
// In a fresh round, which is every round unless a working set is large, all contestants get new
// inputs, and an epoch begins with these in the buffers (in place) or with outputs full of NaN; in
// another round it begins with what the last call left. An epoch of eight calls or more has one
// more call first, untimed. Then the clock runs. Before each call every position moves on by one; a
// kernel that turns forward and back in turn has the same positions in both calls. Before one call
// an element of the input changes, out of place one of each tensor, and before another call all
// weights and slots. The number of calls is odd, so that what is turned forward and back ends
// turned forward; in place, half of the rounds but for the last have one call more. Then the clock
// stops, and the process, the arguments and the bytes around the outputs are compared. About one
// round in 32 is judged, more of the first ones, and the last: recheck() judges what the calls
// left, and then what another epoch of any smaller number of calls, untimed, leaves. Where threads
// may go on, the outputs are looked at again later.
#include "benchmarks/engine/epochs.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "base/random.h"
#include "benchmarks/cells/recheck.h"
#include "benchmarks/engine/rounds.h"
#include "benchmarks/machine/probes.h"
#include "benchmarks/workloads/traffic.h"

namespace ropewalk::bench {
using namespace harness;
using namespace report;
namespace {

// How the contestants of a group are called, one at a time: by all members of the crew at once,
// watched and announced, and until they have settled; what they do after calls, and between them.

class ContestantCalls {
 public:
  /// All three outlive it.
  ContestantCalls(const PairedPlan& plan, Crew& crew, ProcessWatch& watch)
      : plan_(plan), crew_(crew), watch_(watch) {}

  /// Prepares all, and has each make calls: at first until it has settled, which gives its call_s;
  /// later for an epoch. A kernel that is in `steady` settles in fewer calls. Another that seems
  /// slow gets a twentieth of `patience_s` more to settle, within limits. Unless each refills the
  /// buffers, the first alone does. Returns NULL if all went well, else the contestant that has a
  /// refusal now.
  Contestant* settle_all(std::vector<Contestant>& contestants, double epoch_s, bool is_first,
                         double patience_s, bool each_refills, std::set<std::string>& steady);

 protected:
  void announce(const Contestant& e) const {
    watch_.about(e.cell().kernel());
    if (!plan_.now_running) return;
    // The variants of a ceiling share a label, which would look like a hang.
    const report::TimingRow& row = e.cell().row;
    plan_.now_running(e.cell().label() + (row.is_ceiling() ? "|" + row.variant : ""));
  }

  /// Runs task(cell, member) for each cell of a contestant at the same time. Returns nothing if one
  /// refused.
  template <class Task>
  std::optional<Crew::Time> together(Contestant& e, Task&& task) {
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

  static void take_refusal(Contestant& e, const Cell& of) {
    e.cell().refusal = of.refusal;
    if (of.is_fatal) throw std::runtime_error(of.refusal->reason);
  }

  const PairedPlan& plan_;
  Crew& crew_;
  ProcessWatch& watch_;

 private:
  bool get_ready(Contestant& e, bool refill);
  bool warm_up(Contestant& e, double epoch_s);
  bool settle(Contestant& e, double epoch_s, double epochs);
  bool settle_by_own_clock(Contestant& e, double epoch_s, const Cell::Calls& own);
};

// A kernel may be slow at first. Each makes this many calls before it counts, but takes no longer
// than so many epochs; if it then seems far slower than the fastest, it gets more time for them.
constexpr std::int64_t warm_calls = 100, fewest_warm_calls = 3, most_warm_calls = 10'000'000;
constexpr double warm_epochs = 100, warm_epochs_if_steady = 10, warm_epochs_if_slow = 2000,
                 seems_slow = 3;
// A start that takes less is not told: it is that of caches and clock rates.
constexpr double slow_start = 5;
constexpr std::int64_t told_calls = 8;

void note_start(Contestant& e, std::int64_t calls, double times) {
  if (calls < told_calls || times < slow_start) return;
  e.cell().row.slow_calls = calls;
  e.cell().row.slow_times = times;
}

bool ContestantCalls::get_ready(Contestant& e, bool refill) {
  announce(e);
  bool are_ready = true;  // in turn, each on its thread: only apply has to be thread-safe
  for (int one = 0; one < crew_.size() && are_ready; ++one)
    are_ready = together(e, [&](Cell& cell, int member) {
                  if (member == one) cell.ready(refill);
                }).has_value();
  watch_.accept_output();
  watch_.check("prepare");
  return are_ready;
}

Contestant* ContestantCalls::settle_all(std::vector<Contestant>& contestants, double epoch_s,
                                        bool is_first, double patience_s, bool each_refills,
                                        std::set<std::string>& steady) {
  const auto is_steady = [&](const Contestant& e) {  // a ceiling belongs to no kernel
    return e.owner.empty() || steady.contains(e.owner);
  };
  for (Contestant& e : contestants) {
    const double epochs = is_steady(e) ? warm_epochs_if_steady : warm_epochs;
    if (!get_ready(e, each_refills || &e == contestants.data()) ||
        !(is_first ? settle(e, epoch_s, epochs) : warm_up(e, epoch_s)))
      return &e;
  }
  if (!is_first) return nullptr;
  double least_s = contestants.front().call_s;
  for (const Contestant& e : contestants) least_s = std::min(least_s, e.call_s);
  const double epochs = std::clamp(patience_s / 20 / epoch_s, warm_epochs, warm_epochs_if_slow);
  for (Contestant& e : contestants)
    if (!is_steady(e) && e.call_s > seems_slow * least_s && !settle(e, epoch_s, epochs)) return &e;
  for (const Contestant& e : contestants) steady.insert(e.owner);
  for (const Contestant& e : contestants)
    if (e.began_slowly) steady.erase(e.owner);
  return nullptr;
}

/// Makes the calls of an epoch.
bool ContestantCalls::warm_up(Contestant& e, double epoch_s) {
  announce(e);
  const double an_epoch = epoch_s / e.call_s;
  const double wanted = std::clamp(double{warm_calls}, an_epoch, 4 * an_epoch);
  const auto calls = static_cast<std::int64_t>(wanted) + 1;
  if (!together(e, [&](Cell& cell, int) { cell.run({calls}); })) return false;
  watch_.check("apply");
  return true;
}

/// Makes calls until there are warm_calls, and an epoch's time has passed, but none of more than
/// fewest_warm_calls after so many epochs. Takes the time of a call from the last half of all, the
/// least, since other processes disturb it.
bool ContestantCalls::settle(Contestant& e, double epoch_s, double epochs) {
  announce(e);
  if (const auto own = e.cell().own_calls()) return settle_by_own_clock(e, epoch_s, *own);
  double took = 0;
  for (std::int64_t calls = 0;
       calls < fewest_warm_calls ||
       (took < epochs * epoch_s && (calls < warm_calls || took < epoch_s));) {
    const std::int64_t more = std::clamp(calls / 8, std::int64_t{1}, most_warm_calls);
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
  for (const Contestant::WarmUp& each : e.warm_ups) {
    if (each.call_s < 2 * e.call_s) break;
    slow += each.calls;
    slow_s += each.call_s * static_cast<double>(each.calls);
  }
  e.began_slowly = slow_s >= epoch_s;
  if (slow > 0) note_start(e, slow, slow_s / static_cast<double>(slow) / e.call_s);
  return true;
}

/// By a cell's own clock: ever more calls, until they fill an epoch, and some epochs of them.
bool ContestantCalls::settle_by_own_clock(Contestant& e, double epoch_s, const Cell::Calls& own) {
  constexpr int epochs = 5;
  std::int64_t calls = own.step;
  for (int full = 0; full < epochs;) {
    const auto time = together(e, [&](Cell& cell, int) { cell.ready() && cell.run({calls}); });
    if (!time) return false;
    e.call_s = std::max(time->wall_s / static_cast<double>(calls), 1e-9);
    const bool is_full = time->wall_s >= epoch_s || calls + own.step > own.most;
    is_full ? ++full : calls = std::min(2 * calls, own.most / own.step * own.step);
  }
  watch_.check("apply");
  return true;
}

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// In epochs of at least this many calls, one more call is made first, untimed.
constexpr std::int64_t warm_up_from = 8;
constexpr std::size_t judged_one_in = 32, fewest_judged = 4, fewest_judged_later = 2;
// Fewer rounds of each launch give no interval.
constexpr std::size_t fewest_rounds = 6;
constexpr double worth_a_trial_s = 1;  // of a group; the trial takes a tenth of a second
constexpr double overhead = 2;         // a first guess: the time of a round over that of its epochs

/// Time in ms that a hypervisor took from all processors; 0 if the system does not tell.
double stolen_ms() {
  const auto ticks = cpu_ticks(SystemFiles());
  return ticks ? static_cast<double>(ticks->stolen) * 10 : 0;  // USER_HZ is 100
}

/// The rounds of all contestants on one workload.
class GroupRounds : ContestantCalls {
 public:
  GroupRounds(const PairedPlan& plan, RoundsOf& of, Crew& crew,
              std::vector<Contestant>& contestants, ProcessWatch& watch)
      : ContestantCalls(plan, crew, watch),
        memory_(of.memory),
        of_(of),
        until_(of.until),
        contestants_(contestants),
        is_first_(of.placement == 0),
        epoch_s_(of.epoch_s > 0                                        ? of.epoch_s
                 : of.until && !contestants.front().cell().own_calls() ? usual_epoch_s
                                                                       : plan.epoch_s),
        order_seed_(seed_of(plan, of.name) + static_cast<std::uint64_t>(of.placement)),
        adds_calls_(is_in_place(of.memory.workload()) && !contestants.front().cell().own_calls()) {}

  Contestant* run(Oracle& oracle) {
    const double time_s =
        of_.group_until ? left_of_group_s() / 4 : std::numeric_limits<double>::infinity();
    if (Contestant* refused = settle_all(contestants_, epoch_s_, is_first_, time_s,
                                         refreshes_one_in_ == 1, of_.steady))
      return refused;
    memory_.begin_group();
    const double stolen_before_ms = stolen_ms();
    if (Contestant* refused = choose_epoch()) return refused;
    if (Contestant* refused = until_ ? run_designs(oracle) : run_as_many(oracle)) return refused;
    const bool watches_pauses = is_first_ || one_in(4);  // they take long
    for (Contestant& e : contestants_)
      if (!together(e, [](Cell& cell, int) { cell.end_rounds(); }) || !rests(e) ||
          (watches_pauses &&
           !rests_between_calls(e, contestants_.front(), crew_, watch_, next_random(random_))))
        return &e;
    of_.epoch_s = epoch_s_;
    finish(stolen_ms() - stolen_before_ms);
    return nullptr;
  }

 private:
  void refresh() {
    const std::uint64_t seed = next_random(random_);
    crew_.run([&](int i) { memory_.refresh(i, seed + static_cast<std::uint64_t>(i)); });
  }

  struct Round {
    bool fresh, judged;
    bool even;  ///< one call more, where there are enough
  };

  /// Makes the calls of an epoch on every thread, from fresh buffers or from what was left. Returns
  /// nothing if one refused.
  std::optional<Crew::Time> make_epoch(Contestant& e, std::int64_t calls, bool fresh) {
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

  bool epoch(Contestant& e, const Round& round, Oracle& oracle) {
    announce(e);
    const std::int64_t calls = e.calls + (e.calls > 1 && round.even ? 1 : 0);
    const auto time = make_epoch(e, calls, round.fresh);
    if (!time) return false;
    TimingRow& row = e.cell().row;
    const double tokens = static_cast<double>(row.tokens) * crew_.size();
    row.ns_per_token.push_back(time->wall_s * 1e9 / static_cast<double>(calls) / tokens);
    row.iterations.push_back(calls);
    if (!e.cell().own_calls()) {
      const double before_ns = std::exchange(probed_ns_, throughput_probe());
      row.probe_ns.push_back(static_cast<std::int64_t>(std::max(before_ns, probed_ns_)));
    }
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
    return holds(e, judged, oracle) &&
           (e.calls == 1 || (ends_early(e, round.fresh) && holds(e, judged, oracle))) &&
           (!may_hide_work(e) || rests(e));
  }

  /// Another epoch, untimed, of any number of calls, as a kernel cannot leave out all but the last.
  bool ends_early(Contestant& e, bool fresh) {
    const std::int64_t most = one_in(2) ? e.calls : std::min(e.calls, few_calls);
    return make_epoch(e, 1 + random_below(most, random_), fresh).has_value();
  }

  /// Judges the outputs of one thread, on that thread: any at first, then the next.
  bool holds(Contestant& e, std::uint64_t judged, Oracle& oracle) {
    const auto i = static_cast<std::size_t>((first_judged_ + judged) % e.cells.size());
    crew_.run([&, seed = next_random(random_)](int member) {
      if (member == static_cast<int>(i)) e.cells[i]->judge(oracle, seed);
    });
    take_refusal(e, *e.cells[i]);
    watch_.check("apply");  // the calls that were judged are this kernel's own
    return !e.cell().refusal;
  }

  /// In place, each call changes what it is given. So large buffers need no other.
  bool rests(Contestant& e) {
    const bool refill = refreshes_one_in_ == 1 || !is_in_place(memory_.workload());
    return rests_after_calls(e, crew_, watch_, refill, next_random(random_));
  }

  struct Batch {
    std::size_t judged;  ///< at least so many of its rounds; 0: as chance has it
    bool is_last;
  };
  /// Which rounds are judged: some of them by chance, and the last, so that a lasting error is
  /// seen.
  std::vector<bool> judged_rounds(std::size_t rounds, const Batch& batch) {
    std::vector<bool> judged(rounds, false);
    judged.back() = batch.is_last;
    const std::size_t by_chance = (rounds + next_random(random_) % judged_one_in) / judged_one_in;
    const std::size_t wanted = std::max(by_chance, batch.judged);
    for (std::size_t drawn = 0; drawn < wanted; ++drawn)
      judged[next_random(random_) % rounds] = true;
    return judged;
  }

  Contestant* run_rounds(const std::vector<std::vector<int>>& orders, const Batch& batch,
                         Oracle& oracle) {
    const std::vector<bool> judged = judged_rounds(orders.size(), batch);
    for (std::size_t round = 0; round < orders.size(); ++round) {
      const bool last = batch.is_last && round + 1 == orders.size();
      const bool fresh = last || one_in(refreshes_one_in_);
      if (fresh) refresh();
      const bool even = adds_calls_ && !last && one_in(2);
      for (const int i : orders[round]) {
        Contestant& e = contestants_[static_cast<std::size_t>(i)];
        if (!epoch(e, {fresh, judged[round], even}, oracle)) return &e;
      }
    }
    return nullptr;
  }

  /// As many rounds as the plan says, and once more if some contestant was slow in the first ones.
  Contestant* run_as_many(Oracle& oracle) {
    for (const bool again : {false, true}) {
      choose_calls(contestants_, epoch_s_);
      const auto orders = shortened(round_orders(count(), plan_.rounds, order_seed_));
      if (Contestant* refused = run_rounds(orders, {fewest_judged, true}, oracle)) return refused;
      if (again || !note_late_ones(contestants_)) break;
      for (Contestant& e : contestants_) e.forget_rounds();
    }
    return nullptr;
  }

  /// As many designs as fit into the time, but at least a part of one. If some contestant was slow
  /// in the first, it does not count.
  Contestant* run_designs(Oracle& oracle) {
    choose_calls(contestants_, epoch_s_);
    std::uint64_t seed = order_seed_;
    double& round_s = of_.round_s;
    if (round_s == 0) round_s = overhead * epochs_s();
    bool checks_starts = is_first_;
    std::size_t judged_first = is_first_ ? fewest_judged : fewest_judged_later;
    for (bool ends = false; !ends;) {
      auto orders = round_orders(count(), 1, next_random(seed));
      const double fit = std::max(Seconds(*until_ - Clock::now()).count() / round_s, 0.0);
      ends = fit < 2 * static_cast<double>(orders.size());
      if (fit < static_cast<double>(orders.size()))
        orders.resize(
            std::min(std::max(static_cast<std::size_t>(fit), fewest_rounds), orders.size()));
      const auto began = Clock::now();
      const std::size_t offset = next_random(random_) % (stack_page / stack_step) * stack_step;
      // Where few rounds fit, each that is judged costs some others.
      const std::size_t judged_now =
          std::min(std::exchange(judged_first, 0), ends ? 1 : orders.size());
      const Batch batch{judged_now, ends};
      Contestant* refused =
          at_stack_offset(offset, [&] { return run_rounds(orders, batch, oracle); });
      if (refused != nullptr) return refused;
      const double took_s = Seconds(Clock::now() - began).count();
      of_.rounds_s += took_s;
      round_s = took_s / static_cast<double>(orders.size());
      if (!std::exchange(checks_starts, false) || !note_late_ones(contestants_)) continue;
      for (Contestant& e : contestants_) e.forget_rounds();
      choose_calls(contestants_, epoch_s_);
      judged_first = fewest_judged;
      ends = false;
    }
    return nullptr;
  }

  double left_of_group_s() const { return Seconds(*of_.group_until - Clock::now()).count(); }

  int count() const { return static_cast<int>(contestants_.size()); }
  double epochs_s() const {  // of a round
    double sum = 0;
    for (const Contestant& e : contestants_) sum += e.call_s * static_cast<double>(e.calls);
    return sum;
  }

  /// The epochs of the group, if its time counts: those of an earlier placement or launch, or
  /// chosen by pairs of the baseline and its twin. Returns one that refused; NULL: none.
  Contestant* choose_epoch() {
    if (!until_ || !is_first_ || contestants_.front().cell().own_calls()) return nullptr;
    if (const auto known = plan_.epochs_s.find(of_.name); known != plan_.epochs_s.end()) {
      epoch_s_ = known->second;
      return nullptr;
    }
    if (contestants_.size() < 2 || !contestants_[1].cell().row.is_twin()) return nullptr;
    if (!of_.group_until || left_of_group_s() < worth_a_trial_s) return nullptr;
    Contestant* refused = nullptr;
    const auto time_pair = [&](std::int64_t calls) -> std::optional<TrialPair> {
      const auto began = Clock::now();
      double wall_s[2] = {};
      refresh();
      for (const std::size_t i : {0u, 1u}) {
        Contestant& e = contestants_[i];
        announce(e);
        e.calls = calls;
        const auto time = make_epoch(e, calls, true);
        if (!time) refused = &e;
        if (!time) return {};
        wall_s[i] = time->wall_s;
      }
      return TrialPair{wall_s[0] / wall_s[1], Seconds(Clock::now() - began).count()};
    };
    if (const auto chosen = epoch_of_least_cost(contestants_.front().call_s, time_pair))
      epoch_s_ = *chosen;
    return refused;
  }

  std::vector<std::vector<int>> shortened(std::vector<std::vector<int>> orders) const {
    const auto affordable = static_cast<std::int64_t>(plan_.group_s / epochs_s());
    // Fewer rounds of three launches may give no interval.
    const auto fewest = static_cast<std::int64_t>(6 + std::bit_width(contestants_.size()));
    const auto most = static_cast<std::size_t>(std::max(affordable, fewest));
    if (orders.size() > most) orders.resize(most);
    return orders;
  }

  bool one_in(std::uint64_t count) { return next_random(random_) % count == 0; }

  void finish(double stolen) {
    for (Contestant& e : contestants_) {
      TimingRow& row = e.cell().row;
      row.outcome = Outcome::measured;
      row.launch = plan_.launch;
      row.epoch_us = 1e6 * epoch_s_;
      row.threads = crew_.size();
      row.processors = crew_.processors();
      row.steal_ms = stolen;
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

  GroupMemory& memory_;
  const std::uint64_t refreshes_one_in_ = memory_.refreshes_one_in();
  RoundsOf& of_;
  const RoundsOf::Until& until_;
  std::vector<Contestant>& contestants_;
  bool is_first_;
  double epoch_s_;
  std::uint64_t order_seed_, random_ = fresh_seed(), first_judged_ = next_random(random_);
  bool adds_calls_;
  double probed_ns_ = 0;  ///< the last throughput_probe(), after an epoch
};

}  // namespace

std::uint64_t seed_of(const PairedPlan& plan, const std::string& name) {
  return seed_of_name(plan.seed ^ (static_cast<std::uint64_t>(plan.launch) << 32), name);
}

Contestant* time_rounds(const PairedPlan& plan, RoundsOf& of, Crew& crew,
                        std::vector<Contestant>& contestants, Oracle& oracle, ProcessWatch& watch) {
  return GroupRounds(plan, of, crew, contestants, watch).run(oracle);
}

}  // namespace ropewalk::bench
