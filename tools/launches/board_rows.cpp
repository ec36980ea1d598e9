#include "tools/launches/board_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "benchmarks/engine/board.h"
#include "benchmarks/engine/ceilings.h"
#include "benchmarks/engine/cells.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/engine/paired.h"
#include "benchmarks/machine/environment.h"
#include "harness/cases/names.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace report;
namespace {

/// A row that this program's boards never send. `what` says why, in words that follow "sent a row".
struct BadRow {
  std::string what;
};

void need(bool holds, const std::string& what) {
  if (!holds) throw BadRow{what};
}

// More than any x86-64 core moves: four accesses of 64 bytes in each cycle at 10 GHz.
constexpr double most_bytes_a_ns = 4 * 64 * 10;
constexpr std::int64_t most_iterations = std::int64_t{1} << 40;
// A kernel that asks for more is SKIPPED.
constexpr std::int64_t most_workspace_bytes = std::int64_t{1} << 30;
constexpr std::size_t most_reason_bytes = 1000;

std::string reason_of(const TimingRow& told) {
  return told.reason.empty() ? "no reason was given"
                             : printable_start(told.reason, most_reason_bytes);
}

bool is_count(double value) {
  return std::isfinite(value) && value >= 0;
}

/// The wall time of the calls according to the row, in s.
double seconds_of(const TimingRow& row) {
  const auto tokens = static_cast<double>(row.tokens * row.threads);
  double ns = 0;
  for (std::size_t i = 0; i < row.ns_per_token.size(); ++i)
    ns += row.ns_per_token[i] * tokens * static_cast<double>(row.iterations[i]);
  return ns * 1e-9;
}

template <class List, class Holds>
auto* found_in(const List& list, Holds&& holds) {
  const auto found = std::find_if(list.begin(), list.end(), holds);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

BoardRows::BoardRows(const BoardScope& scope, std::function<void(TimingRow)> on_row)
    : scope_(scope), on_row_(std::move(on_row)) {
  const BoardRequest& request = scope_.request;
  if (!paired()) {
    most_rounds_ = benchmark_repetitions(request.benchmark_args);
    return;
  }
  // Rounds come in whole designs, of at most two for each kernel, twin and ceiling.
  const auto entrants = std::max(std::ssize(request.contestants) + 2, std::ssize(scope_.kernels));
  constexpr std::ptrdiff_t most_variants = 32;  // when only ceilings are tried
  most_rounds_ = request.rounds + 2 * std::max(entrants, most_variants);
  least_rounds_ = std::min<std::int64_t>(request.rounds, 6);
}

std::string BoardRows::take(const std::string& json, double wall_s) {
  try {
    TimingRow row = known(timing_row_from(json));
    check_time(row, wall_s);
    place(std::move(row));
    return {};
  } catch (const BadFile& unreadable) {
    return "sent a row that cannot be read: " + printable_start(unreadable.what(), 200);
  } catch (const BadRow& bad) {
    return "sent a row " + bad.what;
  }
}

std::string BoardRows::finish() {
  try {
    end_group();
    return {};
  } catch (const BadRow& bad) {
    return "ended its board after a row " + bad.what;
  }
}

TimingRow BoardRows::known(const TimingRow& told) const {
  const Workload* workload =
      found_in(scope_.workloads, [&](const Workload& w) { return w.name == told.workload; });
  need(workload != nullptr, "of a workload that was not asked for");
  TimingRow row =
      told.is_ceiling() ? known_ceiling(told, *workload) : known_kernel(told, *workload);
  row.engine = scope_.request.engine;
  need(told.engine == row.engine, "of another engine");
  row.launch = paired() ? scope_.request.launch : 0;
  need(told.launch == row.launch, "of another launch");
  const std::int64_t threads = scope_.request.threads;
  need(told.threads == 1 || told.threads == threads, "of a number of threads not asked for");
  row.threads = told.threads;
  take_outcome(told, row);
  if (row.outcome != Outcome::measured) return row;
  take_numbers(told, row);
  if (row.threads > 1)
    row.processors = processors_text(processors_for(static_cast<int>(row.threads), allowed_cpus()));
  return row;
}

TimingRow BoardRows::known_kernel(const TimingRow& told, const Workload& workload) const {
  const std::string name = kernel_of(told);
  const KernelFacts* facts =
      found_in(scope_.kernels, [&](const KernelFacts& k) { return k.name == name; });
  need(facts != nullptr && scope_.request.contestants.contains(name) &&
           !scope_.request.ceilings_only,
       "of a kernel that was not asked for");
  need(paired() || told.role == Role::kernel, "of a role that its engine does not have");
  TimingRow row = known_row(workload, facts->angle_contract == ROPE_CONTRACT_TABLE);
  need(told.board == row.board, "of another board");
  row.kernel = name;
  row.role = told.role;
  if (row.is_twin()) row.kernel += twin_suffix;
  need(told.kernel == row.kernel, "of a twin of another name");
  row.summary = facts->summary;
  return row;
}

TimingRow BoardRows::known_ceiling(const TimingRow& told, const Workload& workload) const {
  if (!paired() && told.outcome == Outcome::skipped) return known_ceiling_row(workload, "", false);
  need(is_ceiling_variant(told.variant, workload.in_place), "of a ceiling that does not exist");
  const auto picked = scope_.request.ceilings.find(workload.name);
  const bool was_picked = picked != scope_.request.ceilings.end();
  need(!was_picked || picked->second == told.variant, "of a ceiling that was not asked for");
  TimingRow row = known_ceiling_row(workload, told.variant, was_picked);
  need(told.kernel == row.kernel && told.outcome == Outcome::measured, "of a false ceiling");
  if (!paired() || scope_.request.ceilings_only) return row;
  for (const KernelFacts& k : scope_.kernels) {
    const bool table = k.angle_contract == ROPE_CONTRACT_TABLE;
    if (told.board == board_of(workload, table ? "table" : "computed")) {
      row.board = told.board;
      return row;
    }
  }
  throw BadRow{"of another board"};
}

void BoardRows::take_outcome(const TimingRow& told, TimingRow& row) const {
  const std::string name = kernel_of(row);
  const auto broken = scope_.request.contestants.find(name);
  row.outcome = told.outcome;
  if (!row.is_ceiling() && !broken->second.empty()) {
    need(told.outcome == Outcome::broken, "with a speed of a kernel that is broken");
    row.reason = broken->second;
  } else if (!row.is_ceiling() && scope_.request.unverified.contains({name, row.workload})) {
    need(told.outcome == Outcome::skipped, "with a speed of a kernel that was not verified");
    row.reason = reason_of(told);
  } else if (told.outcome != Outcome::measured) {
    need(told.outcome == Outcome::broken || told.outcome == Outcome::skipped, "without an outcome");
    row.reason = reason_of(told);
  }
  if (row.outcome != Outcome::measured)
    need(told.ns_per_token.empty() && row.role == Role::kernel,
         "with numbers for a contestant that was not timed");
}

// Takes the numbers, which the parent cannot know, and bounds them.
void BoardRows::take_numbers(const TimingRow& told, TimingRow& row) const {
  const auto rounds = std::ssize(told.ns_per_token);
  need(std::ssize(told.iterations) == rounds, "with different numbers of times and counts");
  need(rounds >= least_rounds_ && rounds <= most_rounds_,
       fmt::format("of {} rounds, which is not the number asked for", rounds));
  const auto tokens = static_cast<double>(row.tokens * row.threads);  // of all threads
  const double call_ns_least = static_cast<double>(row.bytes) / most_bytes_a_ns;
  for (std::size_t i = 0; i < told.ns_per_token.size(); ++i) {
    const double ns = told.ns_per_token[i];
    need(std::isfinite(ns) && ns > 0, "with a time that is not above 0");
    need(ns * tokens >= call_ns_least, "with a time too short for any processor");
    const std::int64_t calls = told.iterations[i];
    need(calls >= 1 && calls <= most_iterations, "with an impossible number of calls");
    need(!paired() || calls == told.iterations.front(), "with numbers of calls that differ");
  }
  row.ns_per_token = told.ns_per_token;
  row.iterations = told.iterations;
  take_medians(row);
  need(told.workspace_bytes >= 0 && told.workspace_bytes <= most_workspace_bytes &&
           (!row.is_ceiling() || told.workspace_bytes == 0),
       "with an impossible workspace");
  row.workspace_bytes = told.workspace_bytes;
  need(told.involuntary_switches >= 0 && told.page_faults >= 0 && told.reverified >= 0 &&
           (!paired() || told.reverified <= rounds) && std::isfinite(told.steal_ms) &&
           is_count(told.spin_ns_before) && is_count(told.spin_ns_after) &&
           is_count(told.off_cpu_share) && told.off_cpu_share <= 1,
       "with impossible counts of disturbances");
  row.involuntary_switches = told.involuntary_switches;
  row.page_faults = told.page_faults;
  row.reverified = told.reverified;
  row.steal_ms = std::max(told.steal_ms, 0.0);  // some hypervisors take ticks back
  row.spin_ns_before = told.spin_ns_before;
  row.spin_ns_after = told.spin_ns_after;
  row.off_cpu_share = told.off_cpu_share;
}

// Calls follow one another, so together they took no longer than the board has run.
void BoardRows::check_time(const TimingRow& row, double wall_s) {
  constexpr double rounding = 1e-9;  // of some million products and sums
  timed_s_ += seconds_of(row);
  need(timed_s_ <= wall_s * (1 + rounding), "of calls that took longer than its process ran");
}

void BoardRows::place(TimingRow row) {
  if (paired() && !scope_.request.ceilings_only) return place_paired(std::move(row));
  need(taken_.insert({row.kernel, row.workload}).second, "that it had sent before");
  on_row_(std::move(row));
}

// Groups come in the order of the workloads. Tables come first, and one thread comes first. The
// ceiling is last.
void BoardRows::place_paired(TimingRow row) {
  const std::string group = group_name(row.workload, row.board, row.threads);
  need(!scope_.request.done.contains(group), "of a group measured before");
  const Workload* workload =
      found_in(scope_.workloads, [&](const Workload& w) { return w.name == row.workload; });
  const Place place{static_cast<std::size_t>(workload - scope_.workloads.data()),
                    row.board != board_of(*workload, "table"), row.threads};
  if (!any_ || place != at_) {
    end_group();
    need(!any_ || at_ < place, "of a group that came before");
  }
  any_ = true;
  at_ = place;
  need(taken_.insert({row.kernel, group}).second, "that it had sent before");
  const bool last = row.is_ceiling();
  group_.push_back(std::move(row));
  if (last) end_group();
}

void BoardRows::end_group() {
  std::vector<TimingRow> rows = std::exchange(group_, {});
  std::optional<std::tuple<int, std::string>> base;
  std::string baseline, twin;
  std::size_t rounds = 0;
  bool ceiling = false;
  for (const TimingRow& row : rows) {
    if (row.outcome != Outcome::measured) continue;
    need(rounds == 0 || rounds == row.ns_per_token.size(),
         "with another number of rounds than its group");
    rounds = row.ns_per_token.size();
    ceiling = ceiling || row.is_ceiling();
    if (row.role == Role::baseline) baseline += row.kernel;
    if (row.is_twin()) twin += kernel_of(row);
    if (row.is_ceiling() || row.is_twin()) continue;
    const int rank = row.kernel == scope_.request.baseline ? 0 : row.kernel == "plain" ? 1 : 2;
    base = std::min(base.value_or(std::tuple{rank, row.kernel}), std::tuple{rank, row.kernel});
  }
  need((rounds > 0) == ceiling, "of a group without a ceiling");
  if (rounds > 0)
    need(base && baseline == std::get<1>(*base) && twin == baseline,
         "of a group without its baseline and twin");
  for (TimingRow& row : rows) on_row_(std::move(row));
}

}  // namespace ropewalk::tools
