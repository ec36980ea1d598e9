#include "reports/numbers/compare_builds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "reports/numbers/compare.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {
namespace {

struct Builds {
  const BoardEntry *base = nullptr, *head = nullptr;
};

/// The kernels of a contest that have a prefix, by their names without it.
std::map<std::string, Builds> builds_in(const Contest& contest) {
  std::map<std::string, Builds> builds;
  for (const BoardEntry& entry : contest.entries) {
    const std::string_view name = entry.row->kernel;
    if (entry.row->is_reference() || entry.row->is_twin()) continue;
    const std::string own(name.substr(std::min(name.find(':') + 1, name.size())));
    if (name.starts_with(base_prefix)) builds[own].base = &entry;
    if (name.starts_with(head_prefix)) builds[own].head = &entry;
  }
  return builds;
}

std::string standing_of(const BoardEntry& entry) {
  return fmt::format("{}: {}", word(entry.outcome), entry.reason);
}

/// What would decide on which side of the limit a ratio lies. An interval narrows with the square
/// root of the time.
std::string what_would_decide(const Interval& ratio, double limit, double had_s) {
  constexpr double far_too_long = 100;
  const double half = std::max(ratio.high - ratio.ratio, ratio.ratio - ratio.low);
  const double room = std::abs(ratio.ratio - limit);
  const double times = std::max(half / room * (half / room), 1.0);
  if (!(times <= far_too_long))
    return fmt::format("too near {:+.1f} % for a scatter of {:.1f} %: more time will not decide it",
                       100 * (limit - 1), 100 * half);
  return fmt::format("{} of timing may decide it, this run had {}", time_text(had_s * times),
                     time_text(had_s));
}

/// Answers for a cell with a ratio.
void judge(BuildCell& cell, const ClaimGroup& group, double max_regression) {
  const double limit = 1 + max_regression, floor = 1 + group.margin;
  if (cell.ratio.low > std::max(limit, floor))
    cell.answer = BuildAnswer::regressed;
  else if (!std::isfinite(cell.ratio.high))
    cell.why = fmt::format("{} rounds are too few", cell.ratio.rounds);
  else if (!group.valid)
    cell.why = "the timing is INVALID: two copies of the baseline differ";
  else if (cell.ratio.high <= limit)
    cell.answer = BuildAnswer::no_worse;
  else if (cell.ratio.low > limit)
    cell.why =
        fmt::format("two copies of the baseline differ by up to {:.1f} %", 100 * group.margin);
  else
    cell.why = what_would_decide(cell.ratio, limit, timed_s(group));
}

BuildCell cell_of(const Contest& contest, const Builds& builds, double error,
                  double max_regression) {
  BuildCell cell;
  cell.workload = contest.of->workload;
  cell.board = contest.of->board;
  cell.threads = contest.of->threads;
  const auto [base, head] = builds;
  if (base == nullptr || !base->has_speed) {
    cell.answer = BuildAnswer::not_compared;
    cell.why = base == nullptr ? "base has no such kernel here" : "base is " + standing_of(*base);
  } else if (head == nullptr || !head->has_speed) {
    if (head == nullptr || head->outcome != Outcome::skipped) cell.answer = BuildAnswer::regressed;
    cell.why = head == nullptr ? "head has no such kernel here" : "head is " + standing_of(*head);
  } else if (contest.group == nullptr || contest.group->baseline.empty()) {
    cell.why = "no baseline was timed in paired rounds";
  } else {
    cell.ratio = paired_interval(*head->claim, *base->claim, error);
    cell.launches = static_cast<std::int64_t>(head->launches.size());
    judge(cell, *contest.group, max_regression);
  }
  return cell;
}

/// The verdicts on the kernels of one build, under their own names.
Results verdicts_of(const Results& run, std::string_view prefix) {
  Results out;
  for (const VerdictRow& row : run.verdicts)
    if (row.kernel.starts_with(prefix)) {
      out.verdicts.push_back(row);
      out.verdicts.back().kernel.erase(0, prefix.size());
    }
  return out;
}

}  // namespace

BuildComparison compare_builds(const Results& run, const std::string& name, double max_regression) {
  if (!run.complete) throw BadFile(name + " was cut off before its end: finish it first");
  for (const std::string_view prefix : {base_prefix, head_prefix})
    if (std::ranges::none_of(run.timings,
                             [&](const TimingRow& row) { return row.kernel.starts_with(prefix); }))
      throw BadFile(
          fmt::format("{} has timed no kernel of --plugin {}=FILE: one run compares two "
                      "builds, else name two runs",
                      name, prefix.substr(0, 4)));
  BuildComparison out;
  out.max_regression = max_regression;
  const Results base = verdicts_of(run, base_prefix), head = verdicts_of(run, head_prefix);
  out.failures = new_failures(base, head, summarize(base), summarize(head));
  out.regressions = std::ssize(out.failures);
  const Summary summary = summarize(run);
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests) {
      const auto builds = builds_in(contest);
      for (const auto& [kernel, both] : builds) {
        const double error = claim_error / static_cast<double>(builds.size());
        out.cells.push_back(cell_of(contest, both, error, max_regression));
        BuildCell& cell = out.cells.back();
        cell.kernel = kernel;
        out.regressions += cell.answer == BuildAnswer::regressed ? 1 : 0;
        out.cannot_tell += cell.answer == BuildAnswer::cannot_tell ? 1 : 0;
        out.any_compared |= cell.ratio.rounds > 0;
      }
    }
  std::ranges::stable_sort(out.cells,
                           [](const auto& a, const auto& b) { return a.answer < b.answer; });
  return out;
}

int exit_code_of(const BuildComparison& comparison) {
  if (comparison.regressions > 0) return 1;
  return comparison.cannot_tell > 0 || !comparison.any_compared ? 3 : 0;
}

}  // namespace ropewalk::report
