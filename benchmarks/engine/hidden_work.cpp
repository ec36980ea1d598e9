// Work of a kernel's threads after its calls have returned, and between them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/random.h"
#include "benchmarks/engine/epochs.h"
#include "harness/watch/left_running.h"

namespace ropewalk::bench {
using namespace harness;
using namespace report;
namespace {

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
    const auto calls = 1 + random_below(e.calls, random);
    if (cell.ready(refill)) cell.completes_calls(cell.draw_epoch(calls, random));
  });
  return !e.cell().refusal;
}

// The same calls of the baseline tell what a pause itself does.
bool rests_between_calls(Contestant& e, Contestant& baseline, Crew& crew, ProcessWatch& watch,
                         std::uint64_t random) {
  if (!may_hide_work(e)) return true;
  for (std::size_t i = 0; i + 1 < std::size(gaps_us); ++i) {
    const std::int64_t room = gaps_us[i + 1] - gaps_us[i];
    const std::chrono::microseconds pause(gaps_us[i] + random_below(room, random));
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
