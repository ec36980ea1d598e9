#include "benchmarks/engine/contestant_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/random.h"
#include "harness/watch/left_running.h"

namespace ropewalk::bench {
using namespace harness;
using namespace report;
namespace {

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

// Pairs of calls after a pause. The 10th and the 31st of 40 sorted quotients bound their median:
// P(B(40, 1/2) < 10) < 3.4e-4 at either end.
constexpr std::size_t gap_pairs = 40;
constexpr double gap_margin = 0.01;
// A kernel may look at the length of a pause. Each lies between one of these and the next, in us.
constexpr std::int64_t gaps_us[] = {100, 500, 2000, 5000};

// The time of a call whose inputs came before a pause, over that of one whose inputs came after it,
// sorted. Empty: there is a refusal, or the cell has none such.
std::vector<double> quotients_after_gaps(Contestant& e, Crew& crew, ProcessWatch& watch,
                                         std::chrono::microseconds pause) {
  watch.about(e.cell().kernel());
  std::vector<double> out;
  double spun = 0;
  for (std::size_t i = 0; i < gap_pairs; ++i) {
    double call_s[2] = {};
    for (const bool second : {false, true}) {
      const bool is_given_before = second == (i % 2 == 0);
      std::optional<Cell::Gap> gap;
      crew.run_alone([&] { gap = e.cell().call_after_gap(is_given_before, pause); });
      if (!gap) return {};
      call_s[is_given_before ? 0 : 1] = gap->call_s;
      spun += gap->spun;
    }
    out.push_back(call_s[0] / std::max(call_s[1], 1e-9));
  }
  double& told = e.cell().row.between_calls;
  told = std::max(told, spun / (2 * gap_pairs));
  std::ranges::sort(out);
  return out;
}

}  // namespace

bool ContestantCalls::get_ready(Contestant& e, bool refill) {
  announce(e);
  bool are_ready = true;  // in turn, each on its thread: only apply has to be thread-safe
  for (int one = 0; one < crew_.size() && are_ready; ++one)
    are_ready = together(e, [&](Cell& cell, int member) {
                  if (member == one) cell.ready(refill);
                }).has_value();
  watch_.check_printing("prepare");
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

bool may_hide_work(const Contestant& e) {
  return e.has_own_threads || has_own_tasks(e.cell().kernel());
}

// Of any number of calls, as a kernel may treat the last of many in another way than one alone.
bool rests_after_calls(Contestant& e, Crew& crew, ProcessWatch& watch, bool refill,
                       std::uint64_t random) {
  if (e.cell().kernel() == nullptr) return true;
  watch.about(e.cell().kernel());
  crew.run_alone([&] {
    Cell& cell = e.cell();
    const auto calls = static_cast<std::int64_t>(next_random(random) % std::uint64_t(e.calls)) + 1;
    if (cell.ready(refill)) cell.completes_calls(cell.draw_epoch(calls, random));
  });
  return !e.cell().refusal;
}

// The same calls of the baseline tell what a pause itself does.
bool rests_between_calls(Contestant& e, Contestant& baseline, Crew& crew, ProcessWatch& watch,
                         std::uint64_t random) {
  if (!may_hide_work(e)) return true;
  for (std::size_t i = 0; i + 1 < std::size(gaps_us); ++i) {
    const auto room = static_cast<std::uint64_t>(gaps_us[i + 1] - gaps_us[i]);
    const std::chrono::microseconds pause(gaps_us[i] +
                                          static_cast<std::int64_t>(next_random(random) % room));
    const auto own = quotients_after_gaps(e, crew, watch, pause);
    const auto usual = quotients_after_gaps(baseline, crew, watch, pause);
    if (own.empty() || usual.empty()) return !e.cell().refusal;
    const double least = std::min(usual[gap_pairs / 4 - 1], 1.0) - gap_margin;
    if (own[gap_pairs - gap_pairs / 4] >= least) continue;
    e.cell().refusal =
        Refusal{Outcome::broken,
                fmt::format("works between calls: a call takes {:.0f} % of its time if its inputs "
                            "are there {:.1f} ms before it",
                            100 * own[gap_pairs / 2], static_cast<double>(pause.count()) / 1000)};
    return false;
  }
  return true;
}

}  // namespace ropewalk::bench
