#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"
#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "reports/record/fields.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

/// Of a contestant; those of a verdict are its fields.
constexpr std::string_view columns_of_timing =
    "board,workload,phase,role,variant,threads,outcome,tokens,bytes,working_set_bytes,launches,"
    "rounds,ns_per_token_median,ns_per_token_min,ns_per_token_max,gb_per_s_median,"
    "percent_of_ceiling,baseline,ratio,ratio_low,ratio_high,ratio_coverage,why_unresolved,"
    "noise_floor,launch_spread,round_spread,table_bytes,workspace_bytes,involuntary_switches,"
    "page_faults,steal_ms,off_cpu_share_max,reverified,device,sets,host_ns_per_token,of_floor,"
    "of_floor_copy";

/// The cells of one line by column name. Cells that are not set stay empty.
class CsvLine {
 public:
  void set(const std::string& column, const std::string& text) { cells_[column] = csv_text(text); }
  void set(const std::string& column, std::string_view text) { set(column, std::string(text)); }
  void set(const std::string& column, double value) { cells_[column] = fmt::format("{}", value); }
  void set(const std::string& column, std::int64_t value) {
    cells_[column] = std::to_string(value);
  }
  template <Worded Word>
  void set(const std::string& column, Word value) {
    set(column, word(value));
  }
  /// Sets those fields of the row that are named, or all of them.
  template <class Row>
  void take(const Row& row, const std::set<std::string_view>& names = {}) {
    const auto visit = [&](const char* name, const auto& value) {
      if constexpr (requires { this->set(name, value); })
        if (names.empty() || names.contains(name)) this->set(name, value);
    };
    each_field(row, visit);
  }
  void clear(const std::string& column) { cells_.erase(column); }
  void append_to(std::string& out) const {
    for (std::size_t begin = 0; begin < columns().size();) {
      const std::size_t end = std::min(columns().find(',', begin), columns().size());
      const auto cell = cells_.find(columns().substr(begin, end - begin));
      out += (begin == 0 ? "" : ",") + (cell == cells_.end() ? "" : cell->second);
      begin = end + 1;
    }
    out += '\n';
  }
  /// "row", the fields of a verdict that are no lists, and those of a contestant.
  static std::string_view columns() {
    static const std::string all = [] {
      std::string names = "row,";
      for_each_field<VerdictRow>([&]<class Value>(const Field<VerdictRow, Value>& field) {
        if constexpr (requires(CsvLine line) { line.set(field.name, Value{}); })
          names.append(field.name).append(",");
      });
      return names.append(columns_of_timing);
    }();
    return all;
  }

 private:
  std::map<std::string, std::string, std::less<>> cells_;
};

void append_verdict(const VerdictRow& row, std::string& out) {
  CsvLine line;
  const auto verdict = verdict_of(row);
  line.take(row);
  line.set("row", VerdictRow::kind);
  line.set("plugin", shown_plugin(row.plugin));
  line.set("verdict", verdict);
  if (verdict != Verdict::pass && verdict != Verdict::fail)
    for (const char* number : {"margin", "bound", "bound_unit"}) line.clear(number);
  if (!(row.worst_margin > 0)) line.clear("worst_margin");
  line.append_to(out);
}

void add_claim(const BoardEntry& entry, const Contest& contest, CsvLine& line) {
  const Claim& claim = *entry.claim;
  line.set("launch_spread", claim.launch_spread);
  line.set("round_spread", claim.round_spread);
  if (!entry.is_compared()) return;
  line.set("baseline", contest.group->baseline);
  line.set("ratio", claim.interval.ratio);
  line.set("ratio_low", claim.interval.low);
  line.set("ratio_high", claim.interval.high);
  line.set("ratio_coverage", claim.interval.coverage);
  if (entry.outcome == Outcome::unresolved)
    line.set("why_unresolved", why_open(claim, *contest.group));
  line.set("noise_floor", contest.group->noise_floor);
}

/// The counters of disturbances, over the rounds of all launches together.
void add_census(const BoardEntry& entry, CsvLine& line) {
  std::int64_t rounds = 0, switches = 0, faults = 0, reverified = 0;
  double steal_ms = 0, off_cpu = 0;
  for (const TimingRow* row : entry.launches) {
    rounds += static_cast<std::int64_t>(row->ns_per_token.size());
    switches += row->involuntary_switches;
    faults += row->page_faults;
    reverified += row->reverified;
    steal_ms += row->steal_ms;
    off_cpu = std::max(off_cpu, row->off_cpu_share);
  }
  line.set("launches", static_cast<std::int64_t>(entry.launches.size()));
  line.set("rounds", rounds);
  line.set("involuntary_switches", switches);
  line.set("page_faults", faults);
  line.set("steal_ms", steal_ms);
  line.set("off_cpu_share_max", off_cpu);
  line.set("reverified", reverified);
}

void add_device(const BoardEntry& entry, CsvLine& line) {
  double host = entry.row->host_ns_per_token;
  for (const TimingRow* row : entry.launches) host = std::min(host, row->host_ns_per_token);
  line.set("device", entry.row->device);
  line.set("sets", entry.row->sets);
  line.set("host_ns_per_token", host);
  if (entry.of_floor > 0) line.set("of_floor", entry.of_floor);
  if (entry.of_floor_copy > 0) line.set("of_floor_copy", entry.of_floor_copy);
}

void append_entry(const BoardEntry& entry, const Contest& contest, const Board& board,
                  std::string& out) {
  CsvLine line;
  const TimingRow& row = *entry.row;
  line.take(row, {"kernel", "workload", "phase", "role", "variant", "threads"});
  line.set("row", TimingRow::kind);
  line.set("board", board.name);
  line.set("outcome", entry.outcome);
  line.set("reason", entry.reason);
  if (entry.has_speed) {
    line.take(row, {"tokens", "bytes", "working_set_bytes", "table_bytes", "workspace_bytes"});
    line.set("ns_per_token_median", entry.ns);
    line.set("ns_per_token_min", entry.ns_min);
    line.set("ns_per_token_max", entry.ns_max);
    line.set("gb_per_s_median", entry.gb_per_s);
    if (entry.percent_of_ceiling > 0) line.set("percent_of_ceiling", entry.percent_of_ceiling);
    if (!row.device.empty()) add_device(entry, line);
    add_claim(entry, contest, line);
    add_census(entry, line);
  }
  line.append_to(out);
}

}  // namespace

std::string render_csv(const Results& results, const Summary& summary) {
  std::string out = fmt::format("{}\n", CsvLine::columns());
  for (const VerdictRow& row : results.verdicts) append_verdict(row, out);
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries) append_entry(entry, contest, board, out);
  return out;
}

}  // namespace ropewalk::report
