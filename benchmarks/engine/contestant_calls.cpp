#include "benchmarks/engine/contestant_calls.h"

#include <algorithm>
#include <limits>

namespace ropewalk::bench {
namespace {

// A kernel may be slow at first. Each makes this many calls before it counts, but takes no longer
// than so many epochs; if it then seems far slower than the fastest, it gets more time for them.
constexpr std::int64_t warm_calls = 100, most_warm_calls = 10'000'000;
constexpr double warm_epochs = 100, warm_epochs_if_slow = 2000, seems_slow = 3;
// A start that takes less is not told: it is that of caches and clock rates.
constexpr double slow_start = 5;
constexpr std::int64_t told_calls = 8;

void note_start(Contestant& e, std::int64_t calls, double times) {
  if (calls < told_calls || times < slow_start) return;
  e.cell().row.slow_calls = calls;
  e.cell().row.slow_times = times;
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
                                        bool is_first, double patience_s, bool each_refills) {
  for (Contestant& e : contestants)
    if (!get_ready(e, each_refills || &e == contestants.data()) ||
        !(is_first ? settle(e, epoch_s, warm_epochs) : warm_up(e, epoch_s)))
      return &e;
  if (!is_first) return nullptr;
  double least_s = contestants.front().call_s;
  for (const Contestant& e : contestants) least_s = std::min(least_s, e.call_s);
  const double epochs = std::clamp(patience_s / 20 / epoch_s, warm_epochs, warm_epochs_if_slow);
  for (Contestant& e : contestants)
    if (e.call_s > seems_slow * least_s && !settle(e, epoch_s, epochs)) return &e;
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

/// Makes calls until there are warm_calls, and an epoch's time has passed, but none after so many
/// epochs. Takes the time of a call from the last half of all, the least, since other processes
/// disturb it.
bool ContestantCalls::settle(Contestant& e, double epoch_s, double epochs) {
  announce(e);
  if (const auto own = e.cell().own_calls()) return settle_by_own_clock(e, epoch_s, *own);
  double took = 0;
  for (std::int64_t calls = 0; took < epochs * epoch_s && (calls < warm_calls || took < epoch_s);) {
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

}  // namespace ropewalk::bench
