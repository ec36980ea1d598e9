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
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

constexpr double least_floor = 0.005;  // a smaller difference is never claimed

using Key = std::tuple<std::string, std::string, std::int64_t, std::string>;

struct Place {
  const Contest* contest;
  const BoardEntry* entry;
};

/// Kernels by board, workload, threads and name, in the order in which they appeared.
struct PlacedKernels {
  std::map<Key, Place> by_key;
  std::vector<Key> order;
};

PlacedKernels cells_of(const Summary& summary) {
  PlacedKernels cells;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries) {
        if (entry.row->is_reference() || entry.row->is_twin()) continue;
        const Key key{board.name, contest.of->workload, contest.of->threads, entry.row->kernel};
        if (cells.by_key.try_emplace(key, Place{&contest, &entry}).second)
          cells.order.push_back(key);
      }
  return cells;
}

enum class RoundsTaken { by_median, with_their_noise };

/// The times of each launch, in ns. With a ceiling, each time is divided by the ceiling's median in
/// the same launch.
std::vector<LaunchTime> launches_of(const BoardEntry& entry, const BoardEntry* ceiling,
                                    RoundsTaken rounds = RoundsTaken::by_median) {
  std::vector<LaunchTime> times;
  const auto add = [&](const TimingRow& row, double unit) {
    const double median = row.ns_per_token_median;
    times.push_back({median / unit, median / unit, median / unit});
    if (rounds == RoundsTaken::by_median) return;
    std::vector<double> logs;
    for (const double ns : row.ns_per_token)
      if (is_time(ns)) logs.push_back(std::log(ns / median));
    const Interval around = sign_interval(std::move(logs), round_error);
    times.back().low *= around.low;
    times.back().high *= around.high;
  };
  for (const TimingRow* row : entry.launches) {
    if (ceiling == nullptr) {
      add(*row, 1);
      continue;
    }
    for (const TimingRow* other : ceiling->launches)
      if (other->launch == row->launch) add(*row, other->ns_per_token_median);
  }
  return times;
}

void judge(ComparedCell& cell, double max_regression) {
  const bool inside = cell.ratio.low >= 1 - usual_margin && cell.ratio.high <= 1 + usual_margin;
  if (cell.ratio.high < 1 - least_floor)
    cell.outcome = Outcome::faster;
  else if (cell.ratio.low > 1 + least_floor)
    cell.outcome = Outcome::slower;
  else
    cell.outcome = inside ? Outcome::same : Outcome::unresolved;
  cell.regression = cell.ratio.low > 1 + std::max(max_regression, least_floor);
  cell.cannot_tell = !cell.regression && !(cell.ratio.high <= 1 + max_regression);
}

/// What would decide on which side of the limit the ratio lies. More launches narrow its range with
/// the square root of their number, but not below the spread.
std::string what_would_decide(const ComparedCell& cell, double limit) {
  constexpr double most_launches_told = 100;
  const double off = std::abs(cell.ratio.ratio / limit - 1);
  const double half =
      std::max(cell.ratio.high / cell.ratio.ratio, cell.ratio.ratio / cell.ratio.low) - 1;
  const auto launches = static_cast<double>(std::min(cell.launches_a, cell.launches_b));
  if (launches < launches_to_trust)
    return fmt::format("at least {} launches of each run may decide it", launches_to_trust);
  const double needed = std::ceil(std::max(launches * (half / off) * (half / off), launches + 1));
  if (off > cell.spread && needed <= most_launches_told)
    return fmt::format("about {:.0f} launches of each run may decide it", needed);
  return fmt::format(
      "unchanged code differs by {} from run to run here: time both builds in one run",
      percent_text(100 * cell.spread));
}

struct Unit {
  const BoardEntry *ceiling_a = nullptr, *ceiling_b = nullptr;  ///< NULL: times are in ns
  double least_spread = 0;
};

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
double control_spread(const Place& a, const Place& b, const Unit& unit) {
  double spread = -1;
  for (const Role role : {Role::baseline, Role::null_twin}) {
    const BoardEntry *one = entry_with(a, role), *two = entry_with(b, role);
    if (one == nullptr || two == nullptr || one == a.entry) continue;
    const Interval range =
        launch_interval(launches_of(*one, unit.ceiling_a), launches_of(*two, unit.ceiling_b), 0);
    if (range.rounds == 0) continue;
    spread = std::max({spread, range.high / range.ratio - 1, range.ratio / range.low - 1});
  }
  if (spread < 0) return assumed_spread;
  return std::max({spread, twin_gap(a, unit.ceiling_a), twin_gap(b, unit.ceiling_b)});
}

bool measure(const Place& a, const Place& b, const Unit& unit, ComparedCell& cell) {
  const std::vector<LaunchTime> of_a =
      launches_of(*a.entry, unit.ceiling_a, RoundsTaken::with_their_noise);
  const std::vector<LaunchTime> of_b =
      launches_of(*b.entry, unit.ceiling_b, RoundsTaken::with_their_noise);
  if (of_a.empty() || of_b.empty()) return false;
  cell.spread = std::max({control_spread(a, b, unit), unit.least_spread, least_floor});
  cell.launches_a = static_cast<std::int64_t>(of_a.size());
  cell.launches_b = static_cast<std::int64_t>(of_b.size());
  cell.ratio = launch_interval(of_a, of_b, cell.spread);
  cell.by_ceiling = unit.ceiling_a != nullptr;
  return true;
}

ComparedCell compare_cell(const Place& a, const Place& b, double max_regression) {
  ComparedCell cell;
  const Unit by_ceiling{entry_with(a, Role::ceiling), entry_with(b, Role::ceiling)};
  const bool both = by_ceiling.ceiling_a != nullptr && by_ceiling.ceiling_b != nullptr;
  if (!both || !measure(a, b, by_ceiling, cell)) {
    // The ratio holds the machine's drift, and nothing separates drift from a kernel's change.
    measure(a, b, {nullptr, nullptr, assumed_spread}, cell);
  } else if (const TimingRow& one = *by_ceiling.ceiling_a->row, &two = *by_ceiling.ceiling_b->row;
             one.kernel != two.kernel || one.variant != two.variant) {
    // Two ceiling loops are no common unit. The range therefore covers both ways of measuring.
    ComparedCell in_ns;
    measure(a, b, {}, in_ns);
    cell.ratio.low = std::min(cell.ratio.low, in_ns.ratio.low);
    cell.ratio.high = std::max(cell.ratio.high, in_ns.ratio.high);
    cell.spread = std::max(cell.spread, in_ns.spread);
  }
  cell.ns_a = a.entry->ns;
  cell.ns_b = b.entry->ns;
  judge(cell, max_regression);
  if (cell.cannot_tell) cell.note = what_would_decide(cell, 1 + max_regression);
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

ComparedCell cell_of(const Place* a, const Place* b, double max_regression) {
  ComparedCell cell;
  if (a == nullptr || b == nullptr) {
    const BoardEntry& entry = *(a != nullptr ? a : b)->entry;
    cell.outcome = a != nullptr ? Outcome::gone : Outcome::added;
    if (!entry.has_speed) cell.note = word(entry.outcome);
  } else if (const std::string other = other_work(*a->entry->row, *b->entry->row); !other.empty()) {
    cell.outcome = Outcome::changed;
    cell.note = other;
  } else if (a->entry->has_speed && b->entry->has_speed) {
    cell = compare_cell(*a, *b, max_regression);
  } else {
    const BoardEntry& without = b->entry->has_speed ? *a->entry : *b->entry;
    cell.outcome = without.outcome;
    cell.note = (b->entry->has_speed ? "in the first run: " : "") + without.reason;
    // The kernel had a speed and lost it, although it can run here.
    cell.regression = a->entry->has_speed && without.outcome != Outcome::skipped;
  }
  const Contest& contest = *(a != nullptr ? a : b)->contest;
  cell.kernel = (a != nullptr ? a : b)->entry->row->kernel;
  cell.workload = contest.of->workload;
  cell.threads = contest.of->threads;
  cell.board = contest.of->board;
  return cell;
}

void compare_cells(const Summary& a, const Summary& b, Comparison& out) {
  const PlacedKernels of_a = cells_of(a), of_b = cells_of(b);
  const auto find = [](const PlacedKernels& cells, const Key& key) {
    const auto found = cells.by_key.find(key);
    return found == cells.by_key.end() ? nullptr : &found->second;
  };
  std::set<std::string> timed_in_b;
  for (const Key& key : of_b.order) timed_in_b.insert(std::get<1>(key));
  std::set<std::string> baselines;
  for (const KernelSummary& kernel : a.kernels)
    if (has_baselines(kernel.plugin)) baselines.insert(kernel.name);
  for (const Key& key : of_a.order) {
    ComparedCell cell = cell_of(find(of_a, key), find(of_b, key), out.max_regression);
    // A build has the baselines of the compilers that it finds.
    if (cell.outcome == Outcome::gone && cell.note.empty() && baselines.contains(cell.kernel))
      cell.note = "a compiler baseline, which the second run has not";
    // The second run has timed this workload, so the workload was not left out.
    cell.regression |=
        cell.outcome == Outcome::gone && cell.note.empty() && timed_in_b.contains(cell.workload);
    out.cells.push_back(std::move(cell));
  }
  for (const Key& key : of_b.order)
    if (find(of_a, key) == nullptr)
      out.cells.push_back(cell_of(nullptr, find(of_b, key), out.max_regression));
  for (const ComparedCell& cell : out.cells) {
    if (cell.regression) ++out.regressions;
    if (cell.cannot_tell) ++out.cannot_tell;
    if (cell.ratio.rounds == 0) continue;
    ++out.compared;
    out.by_chance += 1 - cell.ratio.coverage;
  }
  const auto order = [](const ComparedCell& cell) {
    return cell.regression ? 0 : cell.cannot_tell ? 1 : 2;
  };
  std::ranges::stable_sort(
      out.cells, [&](const auto& one, const auto& two) { return order(one) < order(two); });
}

std::array<std::string, 5> claim_of(const VerdictRow& row) {
  return {row.kernel, row.pairing, row.dtype, row.angle_contract, row.property};
}

/// Facts that always differ and say nothing about the comparison.
bool is_passing(const std::string& key) {
  static const std::set<std::string> keys = {"cpu_quota_throttled_periods",
                                             "cpu_steal_since_boot",
                                             "load_average",
                                             "memory_available",
                                             "scalar_after_512_bit",
                                             "timer_overhead_ns",
                                             "timer_resolution_ns"};
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

}  // namespace

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

int exit_code_of(const Comparison& comparison) {
  if (!comparison.invalid.empty()) return 3;
  if (comparison.regressions > 0) return 1;
  return comparison.cannot_tell > 0 ? 3 : 0;
}

Comparison compare_runs(const Results& a, const Results& b, const std::string& name_a,
                        const std::string& name_b, double max_regression) {
  Comparison out;
  out.machine = machine_class(a, name_a);
  std::string other = machine_class(b, name_b);
  // A run without a device has no row that another device could change. A new driver is told.
  const std::string device_a = timed_device(a), device_b = timed_device(b);
  if (!device_a.empty() && !device_b.empty()) {
    out.machine += "; " + device_a.substr(0, device_a.find(", driver "));
    other += "; " + device_b.substr(0, device_b.find(", driver "));
  }
  if (other != out.machine)
    throw BadFile(
        fmt::format("{} and {} are of different machine classes: {} and {}; only runs "
                    "on one class compare",
                    name_a, name_b, out.machine, other));
  const Summary of_a = summarize(a), of_b = summarize(b);
  for (const auto& [results, name] : {std::pair(&a, &name_a), std::pair(&b, &name_b)})
    if (!results->complete && out.invalid.empty())
      out.invalid = *name + " was cut off before its end: finish it first";
  for (const auto& [summary, name] : {std::pair(&of_a, &name_a), std::pair(&of_b, &name_b)})
    if (!summary->claims.valid && out.invalid.empty())
      out.invalid = fmt::format("{} is INVALID: {}", *name, summary->claims.invalid_because);
  out.max_regression = max_regression;
  tell_differences(a, b, of_a, of_b, out);
  if (!out.invalid.empty()) return out;
  out.verdicts = new_failures(a, b, of_a, of_b);
  out.regressions = std::ssize(out.verdicts);
  compare_cells(of_a, of_b, out);
  const bool any = std::ranges::any_of(
      out.cells, [](const ComparedCell& cell) { return cell.ratio.rounds > 0 || cell.regression; });
  if (!any && out.regressions == 0)
    out.invalid = fmt::format("{} and {} have no speed of the same kernel on the same workload",
                              name_a, name_b);
  return out;
}

}  // namespace ropewalk::report
