#include "reports/numbers/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "reports/numbers/claims.h"
#include "reports/numbers/summary.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

constexpr double least_floor = 0.005;  // a smaller difference is never claimed

struct Place {
  const Contest* contest = nullptr;
  const BoardEntry* entry = nullptr;  ///< NULL: this side has no such kernel there
};

/// One kernel on one board, workload and number of threads.
struct TwoSides {
  std::string kernel;
  Place a, b;
};

/// The kernels of both sides, in the order in which they appeared. Those of a build have a prefix,
/// which is taken away.
std::vector<TwoSides> pairs_of(const Summary& a, std::string_view prefix_a, const Summary& b,
                               std::string_view prefix_b) {
  std::vector<TwoSides> pairs;
  std::map<std::tuple<std::string, std::string, std::int64_t, std::string>, std::size_t> at;
  const auto add = [&](const Summary& summary, std::string_view prefix, Place TwoSides::*side) {
    for (const Board& board : summary.boards)
      for (const Contest& contest : board.contests)
        for (const BoardEntry& entry : contest.entries) {
          const TimingRow& row = *entry.row;
          if (row.is_reference() || row.is_twin() || !row.kernel.starts_with(prefix)) continue;
          const std::string kernel = row.kernel.substr(prefix.size());
          const auto [found, is_new] = at.try_emplace(
              {board.name, contest.of->workload, contest.of->threads, kernel}, pairs.size());
          if (is_new) pairs.push_back({kernel, {}, {}});
          Place& place = pairs[found->second].*side;
          if (place.entry == nullptr) place = {&contest, &entry};
        }
  };
  add(a, prefix_a, &TwoSides::a);
  add(b, prefix_b, &TwoSides::b);
  return pairs;
}

/// The times of each launch, in ns. With a ceiling, each time is divided by the ceiling's median in
/// the same launch. Low and high are those of its rounds, or else the median.
std::vector<LaunchTime> launches_of(const BoardEntry& entry, const BoardEntry* ceiling,
                                    bool with_noise = false) {
  std::vector<LaunchTime> times;
  for (const TimingRow* row : entry.launches) {
    double time = row->ns_per_token_median;
    if (ceiling != nullptr) {
      const auto of = std::ranges::find(ceiling->launches, row->launch, &TimingRow::launch);
      if (of == ceiling->launches.end()) continue;
      time /= (*of)->ns_per_token_median;
    }
    times.push_back({time, time, time});
    if (!with_noise) continue;
    std::vector<double> logs;
    for (const double ns : row->ns_per_token)
      if (is_time(ns)) logs.push_back(std::log(ns / row->ns_per_token_median));
    const Interval around = sign_interval(std::move(logs), round_error);
    times.back().low *= around.low;
    times.back().high *= around.high;
  }
  return times;
}

/// `least` is a share: a smaller difference is never claimed.
void judge(ComparedCell& cell, double max_regression, double least) {
  const bool inside = cell.ratio.low >= 1 - usual_margin && cell.ratio.high <= 1 + usual_margin;
  if (cell.ratio.high < 1 - least)
    cell.outcome = Outcome::faster;
  else if (cell.ratio.low > 1 + least)
    cell.outcome = Outcome::slower;
  else
    cell.outcome = inside ? Outcome::same : Outcome::unresolved;
  cell.regression = cell.ratio.low > 1 + std::max(max_regression, least);
  cell.cannot_tell = !cell.regression && !(cell.ratio.high <= 1 + max_regression);
}

/// What would decide on which side of the limit the ratio lies. Its range narrows with the square
/// root of the time, but not below the spread.
std::string what_would_decide(const ComparedCell& cell, double limit, bool of_builds) {
  constexpr double most_times = 100;
  const Interval& ratio = cell.ratio;
  if (std::min(cell.launches_a, cell.launches_b) < launches_to_trust)
    return fmt::format("at least {} launches may decide it", launches_to_trust);
  if (!std::isfinite(ratio.high)) return fmt::format("{} rounds are too few", ratio.rounds);
  const double off = std::abs(ratio.ratio / limit - 1);
  const double half = std::max(ratio.high / ratio.ratio, ratio.ratio / ratio.low) - 1;
  const double times = std::max(half / off * (half / off), 1.1);
  if (off > cell.spread && times <= most_times)
    return fmt::format("about {:.1f} times as {} may decide it", times,
                       of_builds ? "much timing" : "many launches");
  return fmt::format("unchanged code differs by {} here{}", percent_text(100 * cell.spread),
                     of_builds ? "" : ": time both builds in one run");
}

/// The cell of two builds that have a speed each. `error` is that of paired_interval().
ComparedCell compare_paired(const Place& base, const Place& head, double error,
                            double max_regression) {
  ComparedCell cell;
  const ClaimGroup* group = base.contest->group;
  if (group == nullptr || group->baseline.empty()) {
    cell.note = "no baseline was timed in paired rounds";
    cell.cannot_tell = true;
    return cell;
  }
  cell.ratio = paired_interval(*head.entry->claim, *base.entry->claim, error);
  cell.spread = group->margin;
  cell.launches_a = std::ssize(base.entry->launches);
  cell.launches_b = std::ssize(head.entry->launches);
  judge(cell, max_regression, group->margin);
  if (!cell.regression && !group->valid) {
    cell.outcome = Outcome::unresolved;
    cell.cannot_tell = true;
  }
  if (cell.cannot_tell) cell.note = what_would_decide(cell, 1 + max_regression, true);
  return cell;
}

/// The first of this role, which is the fastest ceiling.
const BoardEntry* entry_with(const Place& place, Role role) {
  for (const BoardEntry& entry : place.contest->entries)
    if (entry.has_speed && entry.row->role == role) return &entry;
  return nullptr;
}

/// The distance between the launches of the null twin and of the baseline, which run the same code.
double twin_gap(const Place& place, const BoardEntry* ceiling) {
  const BoardEntry *baseline = entry_with(place, Role::baseline),
                   *twin = entry_with(place, Role::null_twin);
  if (baseline == nullptr || twin == nullptr || baseline == place.entry) return 0;
  const Interval gap =
      launch_interval(launches_of(*baseline, ceiling), launches_of(*twin, ceiling), 0);
  return gap.rounds == 0 ? 0 : std::max(gap.ratio, 1 / gap.ratio) - 1;
}

/// By how much two runs differ although the code is unchanged. It is the largest of two things. The
/// first is how far the ranges of baseline and twin reach around their own ratios, so a faster
/// baseline hides nothing. The second is the distance between baseline and twin. The contestant's
/// own kernel is left out, because its launches show their spread themselves. Returns
/// `assumed_spread` if no control is left.
double control_spread(const Place& a, const Place& b, const BoardEntry* ceiling_a,
                      const BoardEntry* ceiling_b) {
  double spread = -1;
  for (const Role role : {Role::baseline, Role::null_twin}) {
    const BoardEntry *one = entry_with(a, role), *two = entry_with(b, role);
    if (one == nullptr || two == nullptr || one == a.entry) continue;
    const Interval range =
        launch_interval(launches_of(*one, ceiling_a), launches_of(*two, ceiling_b), 0);
    if (range.rounds == 0) continue;
    spread = std::max({spread, range.high / range.ratio - 1, range.ratio / range.low - 1});
  }
  if (spread < 0) return assumed_spread;
  return std::max({spread, twin_gap(a, ceiling_a), twin_gap(b, ceiling_b)});
}

/// In units of the ceilings, or in ns. Without rounds if no launch has a ceiling.
ComparedCell measured(const Place& a, const Place& b, const BoardEntry* ceiling_a,
                      const BoardEntry* ceiling_b, double least_spread = least_floor) {
  const auto of_a = launches_of(*a.entry, ceiling_a, true);
  const auto of_b = launches_of(*b.entry, ceiling_b, true);
  ComparedCell cell;
  cell.spread = std::max(control_spread(a, b, ceiling_a, ceiling_b), least_spread);
  cell.launches_a = std::ssize(of_a);
  cell.launches_b = std::ssize(of_b);
  cell.ratio = launch_interval(of_a, of_b, cell.spread);
  cell.by_ceiling = ceiling_a != nullptr;
  return cell;
}

ComparedCell compare_launches(const Place& a, const Place& b, double max_regression) {
  ComparedCell cell;
  const BoardEntry *one = entry_with(a, Role::ceiling), *two = entry_with(b, Role::ceiling);
  if (one != nullptr && two != nullptr) cell = measured(a, b, one, two);
  if (cell.ratio.rounds == 0) {
    // The ratio holds the machine's drift, and nothing separates drift from a kernel's change.
    cell = measured(a, b, nullptr, nullptr, assumed_spread);
  } else if (one->row->kernel != two->row->kernel || one->row->variant != two->row->variant) {
    // Two ceiling loops are no common unit. The range therefore covers both ways of measuring.
    const ComparedCell in_ns = measured(a, b, nullptr, nullptr);
    cell.ratio.low = std::min(cell.ratio.low, in_ns.ratio.low);
    cell.ratio.high = std::max(cell.ratio.high, in_ns.ratio.high);
    cell.spread = std::max(cell.spread, in_ns.spread);
  }
  judge(cell, max_regression, least_floor);
  if (cell.cannot_tell) cell.note = what_would_decide(cell, 1 + max_regression, false);
  return cell;
}

/// What differs between two workloads of one name; empty if they are alike.
std::string other_work(const TimingRow& a, const TimingRow& b) {
  if (a.tokens != b.tokens)
    return fmt::format("{} and {} tokens", count_text(a.tokens), count_text(b.tokens));
  if (a.working_set_bytes != b.working_set_bytes)
    return fmt::format("working sets of {} and {}", bytes_text(a.working_set_bytes),
                       bytes_text(b.working_set_bytes));
  return {};
}

/// `pairs` is how many kernels of two builds share the error of a group.
ComparedCell cell_of(const TwoSides& pair, const Comparison& of, std::int64_t pairs) {
  const auto& [kernel, a, b] = pair;
  ComparedCell cell;
  if (a.entry == nullptr || b.entry == nullptr) {
    const BoardEntry& entry = *(a.entry != nullptr ? a : b).entry;
    cell.outcome = a.entry != nullptr ? Outcome::gone : Outcome::added;
    if (!entry.has_speed) cell.note = word(entry.outcome);
  } else if (const std::string other = other_work(*a.entry->row, *b.entry->row); !other.empty()) {
    cell.outcome = Outcome::changed;
    cell.note = other;
  } else if (a.entry->has_speed && b.entry->has_speed) {
    const double error = claim_error / static_cast<double>(pairs);
    cell = of.of_builds ? compare_paired(a, b, error, of.max_regression)
                        : compare_launches(a, b, of.max_regression);
    cell.ns_a = a.entry->ns;
    cell.ns_b = b.entry->ns;
  } else {
    const BoardEntry& without = b.entry->has_speed ? *a.entry : *b.entry;
    cell.outcome = without.outcome;
    cell.note = (!b.entry->has_speed ? ""
                 : of.of_builds      ? "in base: "
                                     : "in the first run: ") +
                without.reason;
    // The kernel had a speed and lost it, although it can run here.
    const bool is_skipped = without.outcome == Outcome::skipped;
    cell.regression = a.entry->has_speed && !is_skipped;
    cell.cannot_tell = a.entry->has_speed && is_skipped && of.of_builds;
  }
  const TimingRow& row = *(a.contest != nullptr ? a : b).contest->of;
  cell.kernel = kernel;
  cell.workload = row.workload;
  cell.threads = row.threads;
  cell.board = row.board;
  return cell;
}

void compare_cells(const Summary& a, const Summary& b, Comparison& out) {
  std::set<std::string> timed_in_b, baselines;
  for (const Board& board : b.boards)
    for (const Contest& contest : board.contests) timed_in_b.insert(contest.of->workload);
  for (const KernelSummary& kernel : a.kernels)
    if (has_baselines(kernel.plugin)) baselines.insert(kernel.name);
  const std::vector<TwoSides> pairs =
      pairs_of(a, out.of_builds ? base_prefix : "", b, out.of_builds ? head_prefix : "");
  std::map<const Contest*, std::int64_t> pairs_in;
  const auto contest_of = [](const TwoSides& pair) {
    return (pair.a.contest != nullptr ? pair.a : pair.b).contest;
  };
  for (const TwoSides& pair : pairs) ++pairs_in[contest_of(pair)];
  for (const TwoSides& pair : pairs) {
    ComparedCell cell = cell_of(pair, out, pairs_in[contest_of(pair)]);
    // A build has the baselines of the compilers that it finds.
    if (cell.outcome == Outcome::gone && cell.note.empty() && baselines.contains(cell.kernel))
      cell.note = "a compiler baseline, which the second run has not";
    // The second run has timed this workload, so the workload was not left out.
    cell.regression |=
        cell.outcome == Outcome::gone && cell.note.empty() && timed_in_b.contains(cell.workload);
    out.regressions += cell.regression ? 1 : 0;
    out.cannot_tell += cell.cannot_tell ? 1 : 0;
    out.compared += cell.ratio.rounds > 0 || cell.cannot_tell ? 1 : 0;
    out.by_chance += cell.ratio.rounds > 0 ? 1 - cell.ratio.coverage : 0;
    out.cells.push_back(std::move(cell));
  }
  const auto order = [](const ComparedCell& cell) {
    return cell.regression ? 0 : cell.cannot_tell ? 1 : 2;
  };
  std::ranges::stable_sort(
      out.cells, [&](const auto& one, const auto& two) { return order(one) < order(two); });
  if (out.compared == 0 && out.regressions == 0)
    out.invalid = fmt::format("{} and {} have no speed of the same kernel on the same workload",
                              out.name_a, out.name_b);
}

std::array<std::string, 5> claim_of(const VerdictRow& row) {
  return {row.kernel, row.pairing, row.dtype, row.angle_contract, row.property};
}

/// Facts that always differ and say nothing about the comparison.
bool is_passing(const std::string& key) {
  static const std::set<std::string> keys = {"cpu_quota_throttled_periods", "cpu_steal_since_boot",
                                             "load_average", "memory_available"};
  return keys.contains(key);
}

/// The device on which the run timed kernels; empty if there is none.
std::string timed_device(const Results& results) {
  for (const TimingRow& row : results.timings)
    if (!row.device.empty()) return clean_line(row.device);
  return "";
}

void tell_differences(const Results& a, const Results& b, const Summary& of_a, const Summary& of_b,
                      Comparison& out) {
  const auto tell = [&out](const std::string& what, const std::string& one,
                           const std::string& two) {
    if (one != two)
      out.told.push_back(fmt::format("{}: {} → {}", what, one.empty() ? "not said" : one,
                                     two.empty() ? "not said" : two));
  };
  tell("version", a.run.version, b.run.version);
  tell("profile", a.run.profile, b.run.profile);
  tell("seed", std::to_string(a.run.seed), std::to_string(b.run.seed));
  tell("device", timed_device(a), timed_device(b));
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [key, value] : a.run.environment) both[key].first = value;
  for (const auto& [key, value] : b.run.environment) both[key].second = value;
  for (const auto& [key, values] : both)
    if (!is_passing(key)) tell(key, values.first, values.second);
  // Another compiler, or another of its versions.
  for (const KernelSummary& one : of_a.kernels)
    for (const KernelSummary& two : of_b.kernels)
      if (one.name == two.name && has_baselines(one.plugin) && has_baselines(two.plugin))
        tell(one.name, one.summary, two.summary);
}

std::string fact(const Results& results, const char* key, const std::string& name) {
  const auto found = results.run.environment.find(key);
  const std::string value = found == results.run.environment.end() ? "" : found->second;
  if (value.empty() || value == "unknown" || value == "not readable")
    throw BadFile(
        fmt::format("{}: does not state its {}; only runs on machines of one class "
                    "compare",
                    name, key));
  return clean_line(value);
}

/// "L1d 48 KiB (cpus 0), L2 ..." without the numbers of the processors.
std::string without_brackets(std::string text) {
  for (std::size_t at; (at = text.find(" (")) != text.npos;)
    text.erase(at, std::min(text.find(')', at), text.size() - 1) + 1 - at);
  return text;
}

/// Rounds up to a power of two: "24105 MiB" -> "up to 32 GiB".
std::string memory_class(const std::string& text) {
  std::int64_t mib = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), mib);
  if (read.ec != std::errc() || mib <= 0 || mib > (std::int64_t{1} << 40)) return text;
  std::int64_t gib = 1;
  while (gib * 1024 < mib) gib *= 2;
  return fmt::format("up to {} GiB", gib);
}

/// "AMD EPYC 9755; L1d 48 KiB, L2 1 MiB, L3 512 MiB; up to 8 GiB". Throws BadFile if the
/// environment lacks one of these facts.
std::string machine_class(const Results& results, const std::string& name) {
  const std::string model = fact(results, "cpu_model", name);  // the first missing one is named
  const std::string caches = without_brackets(fact(results, "cpu_caches", name));
  return fmt::format("{}; {}; {}", model, caches,
                     memory_class(fact(results, "memory_total", name)));
}

/// The kernels that held in `a` and fail in `b`, and new failures of those that failed in `a`.
std::vector<std::string> new_failures(const Results& a, const Results& b, const Summary& of_a,
                                      const Summary& of_b) {
  std::vector<std::string> failures;
  std::set<std::array<std::string, 5>> held;
  for (const VerdictRow& row : a.verdicts)
    if (verdict_of(row) == Verdict::pass) held.insert(claim_of(row));
  for (const KernelSummary& before : of_a.kernels)
    for (const KernelSummary& after : of_b.kernels) {
      if (before.name != after.name || after.standing != Standing::failed) continue;
      std::string news = before.standing == Standing::verified ? after.reason : "";
      for (const VerdictRow& row : b.verdicts)
        if (news.empty() && row.kernel == after.name && row.known.empty() &&
            is_failure(verdict_of(row)) && held.contains(claim_of(row)))
          news = fmt::format("{} {} on {} {}: {}", row.property, verdict_of(row), row.pairing,
                             row.dtype, row.reason);
      if (news.empty()) continue;
      failures.push_back(before.name + ": " + news);
    }
  return failures;
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

int exit_code_of(const Comparison& comparison) {
  if (!comparison.invalid.empty()) return 3;
  if (comparison.regressions > 0) return 1;
  return comparison.cannot_tell > 0 ? 3 : 0;
}

Comparison compare_runs(const Results& a, const Results& b, const std::string& name_a,
                        const std::string& name_b, double max_regression) {
  Comparison out;
  out.name_a = name_a;
  out.name_b = name_b;
  out.place = machine_class(a, name_a);
  out.max_regression = max_regression;
  std::string other = machine_class(b, name_b);
  // A run without a device has no row that another device could change. A new driver is told.
  const std::string device_a = timed_device(a), device_b = timed_device(b);
  if (!device_a.empty() && !device_b.empty()) {
    out.place += "; " + device_a.substr(0, device_a.find(", driver "));
    other += "; " + device_b.substr(0, device_b.find(", driver "));
  }
  if (other != out.place)
    throw BadFile(
        fmt::format("{} and {} are of different machine classes: {} and {}; only runs "
                    "on one class compare",
                    name_a, name_b, out.place, other));
  const Summary of_a = summarize(a), of_b = summarize(b);
  for (const auto& [results, name] : {std::pair(&a, &name_a), std::pair(&b, &name_b)})
    if (!results->complete && out.invalid.empty())
      out.invalid = *name + " was cut off before its end: finish it first";
  for (const auto& [summary, name] : {std::pair(&of_a, &name_a), std::pair(&of_b, &name_b)})
    if (!summary->claims.valid && out.invalid.empty())
      out.invalid = fmt::format("{} is INVALID: {}", *name, summary->claims.invalid_because);
  tell_differences(a, b, of_a, of_b, out);
  if (!out.invalid.empty()) return out;
  out.verdicts = new_failures(a, b, of_a, of_b);
  out.regressions = std::ssize(out.verdicts);
  compare_cells(of_a, of_b, out);
  return out;
}

Comparison compare_builds(const Results& run, const std::string& name, double max_regression) {
  if (!run.complete) throw BadFile(name + " was cut off before its end: finish it first");
  for (const std::string_view prefix : {base_prefix, head_prefix})
    if (std::ranges::none_of(run.timings,
                             [&](const TimingRow& row) { return row.kernel.starts_with(prefix); }))
      throw BadFile(
          fmt::format("{} has timed no kernel of --plugin {}=FILE: one run compares two "
                      "builds, else name two runs",
                      name, prefix.substr(0, 4)));
  Comparison out;
  out.of_builds = true;
  out.name_a = "base";
  out.name_b = "head";
  out.place = name;
  out.max_regression = max_regression;
  const Results base = verdicts_of(run, base_prefix), head = verdicts_of(run, head_prefix);
  out.verdicts = new_failures(base, head, summarize(base), summarize(head));
  out.regressions = std::ssize(out.verdicts);
  const Summary summary = summarize(run);
  compare_cells(summary, summary, out);
  return out;
}

}  // namespace ropewalk::report
