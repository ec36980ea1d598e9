// Leaderboards: who may be ranked with whom, and who has a speed at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/summary.h"

namespace ropewalk {
namespace {

/// "half_split / f32 / in place / table" -> its four parts.
std::set<std::string> parts_of(const std::string& board) {
  std::set<std::string> parts;
  for (std::size_t begin = 0; begin <= board.size();) {
    const std::size_t end = std::min(board.find('/', begin), board.size());
    const std::size_t first = board.find_first_not_of(' ', begin);
    if (first < end) {
      const std::size_t last = board.find_last_not_of(' ', end - 1);
      parts.insert(board.substr(first, last + 1 - first));
    }
    begin = end + 1;
  }
  return parts;
}

using VerdictIndex = std::map<std::string, std::vector<const VerdictRow*>>;

/// Does a verdict speak about a board? A board that names no pairing concerns both, and so on.
bool concerns(const VerdictRow& row, const std::set<std::string>& parts) {
  const auto agrees = [&parts](const std::string& word, std::initializer_list<const char*> words) {
    const bool named =
        std::any_of(words.begin(), words.end(), [&](const char* w) { return parts.count(w) > 0; });
    return word.empty() || !named || parts.count(word) > 0;
  };
  return agrees(row.pairing, {"half_split", "interleaved"}) &&
         agrees(row.dtype, {"f64", "f32", "f16", "bf16"});
}

/// Empty when the verdicts allow a speed, else why not.
std::string verification_gap(const TimingRow& row, const std::set<std::string>& parts,
                             const VerdictIndex& verdicts) {
  bool passed = false;
  const auto found = verdicts.find(kernel_of(row));
  if (found == verdicts.end()) return "not verified in this run";
  for (const VerdictRow* verdict : found->second) {
    if (!concerns(*verdict, parts)) continue;
    const auto word = verdict_of(*verdict);
    if (is_failure(word)) return fmt::format("{} {}", verdict->property, word);
    passed = passed || word == "PASS";
  }
  return passed ? "" : "not verified in this run";
}

bool is_speed(double value) {
  return std::isfinite(value) && value > 0;
}

void take_spread(Entry& entry) {
  entry.ns_min = entry.ns_max = entry.row->ns_per_token_median;
  for (const double ns : entry.row->ns_per_token) {
    if (!is_speed(ns)) continue;
    entry.ns_min = std::min(entry.ns_min, ns);
    entry.ns_max = std::max(entry.ns_max, ns);
  }
}

Entry make_entry(const TimingRow& row, const VerdictIndex& verdicts) {
  Entry entry;
  entry.row = &row;
  entry.outcome = row.outcome;
  const bool measured = row.outcome == "MEASURED" || row.outcome == "FASTER" ||
                        row.outcome == "SLOWER" || row.outcome == "SAME" ||
                        row.outcome == "UNRESOLVED";
  std::string gap = row.is_ceiling() ? "" : verification_gap(row, parts_of(row.board), verdicts);
  if (measured && gap.empty() && !is_speed(row.ns_per_token_median))
    gap = "its row holds no usable speed";
  entry.has_speed = measured && gap.empty();
  if (entry.has_speed) {
    take_spread(entry);
    return entry;
  }
  if (row.outcome != "IMPLAUSIBLE" && !is_not_run(row.outcome)) entry.outcome = "BROKEN";
  entry.reason = row.reason.empty() ? gap : row.reason;
  return entry;
}

/// Ceilings first, then by speed, then what has none; equal ones by name.
bool stands_before(const Entry& a, const Entry& b) {
  const auto group = [](const Entry& entry) {
    return !entry.has_speed ? 2 : entry.row->is_ceiling() ? 0 : 1;
  };
  if (group(a) != group(b)) return group(a) < group(b);
  const double a_ns = a.has_speed ? a.row->ns_per_token_median : 0;
  const double b_ns = b.has_speed ? b.row->ns_per_token_median : 0;
  if (a_ns != b_ns) return a_ns < b_ns;
  return a.row->kernel < b.row->kernel;
}

void rank(Contest& contest) {
  std::stable_sort(contest.entries.begin(), contest.entries.end(), stands_before);
  double ceiling_gb = 0;
  int next = 1;
  for (Entry& entry : contest.entries) {
    if (!entry.has_speed) continue;
    contest.fastest_ns =
        contest.fastest_ns > 0 ? std::min(contest.fastest_ns, entry.ns_min) : entry.ns_min;
    const double gb = entry.row->gb_per_s_median;
    if (!entry.row->is_ceiling())
      entry.rank = next++;
    else if (is_speed(gb))
      ceiling_gb = std::max(ceiling_gb, gb);
  }
  for (Entry& entry : contest.entries)
    if (entry.has_speed && ceiling_gb > 0 && is_speed(entry.row->gb_per_s_median))
      entry.percent_of_ceiling = 100 * entry.row->gb_per_s_median / ceiling_gb;
}

class BoardTable {
 public:
  Contest& of(const TimingRow& row) {
    const auto [board, new_board] = board_index_.try_emplace(row.board, boards.size());
    if (new_board) {
      boards.emplace_back();
      boards.back().name = row.board;
    }
    auto& contests = boards[board->second].contests;
    const auto [contest, new_contest] =
        contest_index_.try_emplace({row.board, row.workload}, contests.size());
    if (new_contest) {
      contests.emplace_back();
      contests.back().of = &row;
    }
    return contests[contest->second];
  }
  std::vector<Board> boards;

 private:
  std::map<std::string, std::size_t> board_index_;
  std::map<std::pair<std::string, std::string>, std::size_t> contest_index_;
};

/// A ceiling stands on every board that has all the parts its own board names.
void add_ceilings(const std::vector<const TimingRow*>& ceilings, BoardTable& table) {
  std::map<std::string, std::vector<Contest*>> by_workload;
  std::map<const Contest*, std::set<std::string>> parts;
  for (Board& board : table.boards)
    for (Contest& contest : board.contests) {
      by_workload[contest.of->workload].push_back(&contest);
      parts[&contest] = parts_of(board.name);
    }
  std::vector<const TimingRow*> alone;
  for (const TimingRow* row : ceilings) {
    const std::set<std::string> own = parts_of(row->board);
    bool used = false;
    for (Contest* contest : by_workload[row->workload]) {
      const auto& all = parts[contest];
      if (!std::includes(all.begin(), all.end(), own.begin(), own.end())) continue;
      contest->entries.push_back(make_entry(*row, {}));
      used = true;
    }
    if (!used) alone.push_back(row);
  }
  for (const TimingRow* row : alone) table.of(*row).entries.push_back(make_entry(*row, {}));
}

}  // namespace

std::vector<Board> make_boards(const Results& results) {
  VerdictIndex verdicts;
  for (const VerdictRow& row : results.verdicts) verdicts[row.kernel].push_back(&row);
  BoardTable table;
  std::vector<const TimingRow*> ceilings;
  for (const TimingRow& row : results.timings) {
    if (row.is_ceiling())
      ceilings.push_back(&row);
    else
      table.of(row).entries.push_back(make_entry(row, verdicts));
  }
  add_ceilings(ceilings, table);
  for (Board& board : table.boards)
    for (Contest& contest : board.contests) rank(contest);
  return std::move(table.boards);
}

}  // namespace ropewalk
