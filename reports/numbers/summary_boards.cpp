// Leaderboards: which contestants may be ranked together, and which have a speed at all.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "reports/numbers/board_name.h"
#include "reports/numbers/claims.h"
#include "reports/numbers/places.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {
namespace {

using VerdictIndex = std::map<std::string, std::vector<const VerdictRow*>>;

/// Whether a verdict is about a board. A board that names no pairing concerns both pairings; the
/// same holds for the other parts of the name.
bool concerns(const VerdictRow& row, const BoardName& board) {
  const auto agrees = [](std::string_view told, std::string_view named) {
    return told.empty() || named.empty() || told == named;
  };
  return agrees(row.pairing, board.pairing()) && agrees(row.dtype, board.dtype());
}

/// Why the verdicts allow no speed. The reason is empty if they allow one. `known` is that of the
/// failed verdict.
struct Gap {
  std::string reason, known;
};

Gap verification_gap(const TimingRow& row, const BoardName& board, const VerdictIndex& verdicts) {
  bool passed = false, on_host_alone = false;
  const auto found = verdicts.find(kernel_of(row));
  if (found == verdicts.end()) return {"not verified in this run", ""};
  for (const VerdictRow* verdict : found->second) {
    if (!concerns(*verdict, board)) continue;
    const Verdict told = verdict_of(*verdict);
    if (is_failure(told))
      return {fmt::format("{} {}{}", verdict->property, told,
                          verdict->known.empty() ? "" : " (known " + verdict->known + ")"),
              verdict->known};
    passed = passed || told == Verdict::pass;
    on_host_alone = on_host_alone || verdict->judged_on == by_host_launcher;
  }
  // The host in a device's place has a speed that says nothing about the device.
  if (on_host_alone) return {"judged by the host launcher: not timed", ""};
  return {passed ? "" : "not verified in this run", ""};
}

std::vector<double> speeds_of(const TimingRow& row) {
  std::vector<double> speeds;
  std::ranges::copy_if(row.ns_per_token, std::back_inserter(speeds), is_time);
  return speeds;
}

void take_speed(BoardEntry& entry) {
  std::vector<double> spread, medians;
  if (entry.launches.size() == 1) spread = speeds_of(*entry.row);
  for (const TimingRow* launch : entry.launches) medians.push_back(launch->ns_per_token_median);
  if (entry.launches.size() > 1) spread = medians;
  entry.ns = median_of(medians);
  const auto ends = std::ranges::minmax_element(spread);
  entry.ns_min = *ends.min;
  entry.ns_max = *ends.max;
  if (entry.row->is_ceiling()) {  // the time of several boards
    entry.ns = entry.claim->ns_per_token;
    entry.ns_min = std::min(entry.ns_min, entry.ns);
    entry.ns_max = std::max(entry.ns_max, entry.ns);
  }
  // (bytes per call) / (ns per token * tokens per call) = 10^9 bytes per second
  const TimingRow& row = *entry.row;
  const double gb = static_cast<double>(row.bytes) / (entry.ns * static_cast<double>(row.tokens));
  if (is_time(gb)) entry.gb_per_s = gb;
}

/// Combines kernel, launches and claim of one contestant.
BoardEntry make_entry(const Claim& claim) {
  BoardEntry entry;
  entry.row = claim.rows.front();
  entry.outcome = claim.outcome;
  entry.reason = claim.reason;
  entry.known = claim.known;
  entry.has_speed = claim.has_speed;
  if (!claim.has_speed) {
    // The outcome is MEASURED but no sample is usable. The gate lets no such row through.
    if (entry.outcome == Outcome::measured) entry.outcome = Outcome::broken;
    return entry;
  }
  entry.claim = &claim;
  for (const TimingRow* row : claim.rows)
    if (row->outcome == Outcome::measured) entry.launches.push_back(row);
  take_speed(entry);
  return entry;
}

/// References stand first, then contestants by speed, then those without a speed. Ties go by name.
bool stands_before(const BoardEntry& a, const BoardEntry& b) {
  const auto group = [](const BoardEntry& entry) {
    return !entry.has_speed ? 2 : entry.row->is_reference() ? 0 : 1;
  };
  if (group(a) != group(b)) return group(a) < group(b);
  if (a.ns != b.ns) return a.ns < b.ns;
  return a.row->kernel < b.row->kernel;
}

/// An UNRESOLVED contestant gets no rank, because it may be before or behind any other contestant.
bool is_ranked(const BoardEntry& entry) {
  return entry.outcome != Outcome::unresolved && entry.outcome != Outcome::invalid;
}

void set_floors(Contest& contest) {
  for (const BoardEntry& floor : contest.entries) {
    if (!floor.has_speed || !floor.row->is_floor()) continue;
    double BoardEntry::*ratio = floor.row->kernel == floor_name        ? &BoardEntry::of_floor
                                : floor.row->kernel == floor_copy_name ? &BoardEntry::of_floor_copy
                                                                       : nullptr;
    if (ratio == nullptr) continue;
    for (BoardEntry& entry : contest.entries)
      if (entry.has_speed && !entry.row->is_reference()) entry.*ratio = entry.ns / floor.ns;
  }
}

void rank(Contest& contest) {
  std::ranges::stable_sort(contest.entries, stands_before);
  double ceiling_gb = 0;
  int next = 1;
  for (BoardEntry& entry : contest.entries) {
    if (!entry.has_speed || entry.row->is_floor()) continue;
    contest.fastest_ns =
        contest.fastest_ns > 0 ? std::min(contest.fastest_ns, entry.ns_min) : entry.ns_min;
    if (entry.row->is_ceiling())
      ceiling_gb = std::max(ceiling_gb, entry.gb_per_s);
    else if (!entry.row->is_twin() && is_ranked(entry))
      entry.rank = next++;
  }
  // A baseline has won nothing if no other contestant beside it is resolved.
  const auto others = [](const BoardEntry& entry) {
    return entry.is_compared() && !entry.row->is_twin();
  };
  if (std::ranges::any_of(contest.entries, others) && next == 2)
    for (BoardEntry& entry : contest.entries)
      if (entry.row->role == Role::baseline) entry.rank = 0;
  set_floors(contest);
  for (BoardEntry& entry : contest.entries) {
    if (!entry.has_speed || !(ceiling_gb > 0) || entry.row->is_floor()) continue;
    const double share = entry.claim->ceiling_share;
    entry.percent_of_ceiling =
        100 * (share > 0 && !entry.row->is_ceiling() ? share : entry.gb_per_s / ceiling_gb);
  }
}

class BoardTable {
 public:
  Contest& of(const TimingRow& row) {
    Board& board = board_at_.of(row.board, boards);
    board.name = row.board;
    Contest& contest = contest_at_[row.board].of({row.workload, row.threads}, board.contests);
    if (contest.of == nullptr) contest.of = &row;
    return contest;
  }
  std::vector<Board> boards;

 private:
  Places<std::string> board_at_;
  std::map<std::string, Places<std::pair<std::string, std::int64_t>>> contest_at_;
};

/// A reference is shown on every board with a name that has all parts of its own board's name. That
/// of the host is shown on no board of a device.
void add_references(const std::vector<BoardEntry>& references, BoardTable& table) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<Contest*>> by_workload;
  std::map<const Contest*, BoardName> names;
  for (Board& board : table.boards)
    for (Contest& contest : board.contests) {
      by_workload[{contest.of->workload, contest.of->threads}].push_back(&contest);
      names.emplace(&contest, board.name);
    }
  std::vector<BoardEntry> alone;
  for (const BoardEntry& entry : references) {
    const BoardName own(entry.row->board);
    bool used = false;
    for (Contest* contest : by_workload[{entry.row->workload, entry.row->threads}]) {
      const BoardName& name = names.at(contest);
      if (!name.has_all_of(own) || name.is_of_device() != own.is_of_device()) continue;
      contest->entries.push_back(entry);
      used = true;
    }
    if (!used) alone.push_back(entry);
  }
  for (const BoardEntry& entry : alone) table.of(*entry.row).entries.push_back(entry);
}

}  // namespace

std::vector<TimingRow> gated_timings(const Results& results) {
  VerdictIndex verdicts;
  for (const VerdictRow& row : results.verdicts) verdicts[row.kernel].push_back(&row);
  std::vector<TimingRow> rows = results.timings;
  for (TimingRow& row : rows) {
    if (row.outcome == Outcome::skipped) continue;
    Gap gap;
    if (!row.is_reference()) gap = verification_gap(row, BoardName(row.board), verdicts);
    const bool measured = row.outcome == Outcome::measured;
    const std::vector<double> speeds = speeds_of(row);
    if (measured && gap.reason.empty() && speeds.empty())
      gap.reason = "its row holds no usable speed";
    if (measured && gap.reason.empty()) {
      // Computed from the samples, because the median that a row states is not trusted.
      row.ns_per_token_median = median_of(speeds);
      continue;
    }
    if (row.outcome != Outcome::implausible) row.outcome = Outcome::broken;
    if (row.reason.empty()) {
      row.reason = gap.reason;
      row.known = gap.known;
    }
    row.ns_per_token.clear();
    row.ns_per_token_median = row.gb_per_s_median = 0;
  }
  return rows;
}

std::vector<Board> make_boards(const std::vector<TimingRow>& timings, const Claims& claims) {
  // Boards and contests keep the order of the rows, whatever else was timed between them.
  BoardTable table;
  for (const TimingRow& row : timings)
    if (!row.is_reference()) table.of(row);
  std::vector<BoardEntry> references;
  for (const ClaimGroup& group : claims.groups)
    for (const Claim& claim : group.claims) {
      BoardEntry entry = make_entry(claim);
      // A run with a null twin that differs makes no claim at all.
      if (!claims.valid && entry.is_compared()) entry.outcome = Outcome::invalid;
      if (is_reference(claim.role)) {
        references.push_back(entry);
        continue;
      }
      Contest& contest = table.of(*entry.row);
      contest.entries.push_back(entry);
      contest.group = &group;
    }
  add_references(references, table);
  for (Board& board : table.boards)
    for (Contest& contest : board.contests) rank(contest);
  return std::move(table.boards);
}

}  // namespace ropewalk::report
