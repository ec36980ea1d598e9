#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "reports/pages/render_parts.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

constexpr std::array columns = {"row",
                                "kernel",
                                "plugin",
                                "pairing",
                                "dtype",
                                "angle_contract",
                                "property",
                                "verdict",
                                "margin",
                                "bound",
                                "bound_unit",
                                "planned",
                                "executed",
                                "compared_cases",
                                "compared",
                                "seconds",
                                "board",
                                "workload",
                                "phase",
                                "role",
                                "variant",
                                "threads",
                                "outcome",
                                "tokens",
                                "bytes",
                                "working_set_bytes",
                                "launches",
                                "rounds",
                                "ns_per_token_median",
                                "ns_per_token_min",
                                "ns_per_token_max",
                                "gb_per_s_median",
                                "percent_of_ceiling",
                                "baseline",
                                "ratio",
                                "ratio_low",
                                "ratio_high",
                                "ratio_coverage",
                                "why_unresolved",
                                "noise_floor",
                                "launch_spread",
                                "round_spread",
                                "table_bytes",
                                "workspace_bytes",
                                "involuntary_switches",
                                "page_faults",
                                "steal_ms",
                                "off_cpu_share_max",
                                "reverified",
                                "device",
                                "sets",
                                "host_ns_per_token",
                                "of_floor",
                                "of_floor_copy",
                                "reason",
                                "known",
                                "where",
                                "diagnosis",
                                "cause",
                                "worst_margin",
                                "worst_replay",
                                "shrunk_case",
                                "replay",
                                "judged_on",
                                "declared",
                                "coverage",
                                "not_offered"};

/// The cells of one line by column name. Cells that are not set stay empty.
class CsvLine {
 public:
  void text(const char* column, const std::string& value) { cells_[column] = csv_text(value); }
  void number(const char* column, double value) { cells_[column] = fmt::format("{}", value); }
  void count(const char* column, std::int64_t value) { cells_[column] = std::to_string(value); }
  void append_to(std::string& out) const {
    bool first = true;
    for (const char* column : columns) {
      if (!first) out += ',';
      first = false;
      if (const auto cell = cells_.find(column); cell != cells_.end()) out += cell->second;
    }
    out += '\n';
  }

 private:
  std::map<std::string, std::string> cells_;
};

void append_verdict(const VerdictRow& row, std::string& out) {
  CsvLine line;
  const auto verdict = verdict_of(row);
  line.text("row", "verdict");
  line.text("kernel", row.kernel);
  line.text("plugin", shown_plugin(row.plugin));
  line.text("pairing", row.pairing);
  line.text("dtype", row.dtype);
  line.text("angle_contract", row.angle_contract);
  line.text("property", row.property);
  line.text("verdict", std::string(word(verdict)));
  if (verdict == Verdict::pass || verdict == Verdict::fail) {
    line.number("margin", row.margin);
    line.number("bound", row.bound);
    line.text("bound_unit", row.bound_unit);
  }
  line.count("planned", row.planned);
  line.count("executed", row.executed);
  line.count("compared_cases", row.compared_cases);
  line.count("compared", row.compared);
  line.number("seconds", row.seconds);
  line.text("reason", row.reason);
  line.text("known", row.known);
  line.text("where", row.where);
  line.text("diagnosis", row.diagnosis);
  line.text("cause", row.cause);
  if (row.worst_margin > 0) line.number("worst_margin", row.worst_margin);
  line.text("worst_replay", row.worst_replay);
  line.text("shrunk_case", row.shrunk_case);
  line.text("replay", row.replay);
  line.text("judged_on", row.judged_on);
  line.text("declared", row.declared);
  line.text("coverage", row.coverage);
  line.text("not_offered", row.not_offered);
  line.append_to(out);
}

void add_claim(const BoardEntry& entry, const Contest& contest, CsvLine& line) {
  const Claim& claim = *entry.claim;
  line.number("launch_spread", claim.launch_spread);
  line.number("round_spread", claim.round_spread);
  if (!entry.is_compared()) return;
  line.text("baseline", contest.group->baseline);
  line.number("ratio", claim.interval.ratio);
  line.number("ratio_low", claim.interval.low);
  line.number("ratio_high", claim.interval.high);
  line.number("ratio_coverage", claim.interval.coverage);
  if (entry.outcome == Outcome::unresolved)
    line.text("why_unresolved", why_open(claim, *contest.group));
  line.number("noise_floor", contest.group->noise_floor);
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
  line.count("launches", static_cast<std::int64_t>(entry.launches.size()));
  line.count("rounds", rounds);
  line.count("involuntary_switches", switches);
  line.count("page_faults", faults);
  line.number("steal_ms", steal_ms);
  line.number("off_cpu_share_max", off_cpu);
  line.count("reverified", reverified);
}

void add_device(const BoardEntry& entry, CsvLine& line) {
  double host = entry.row->host_ns_per_token;
  for (const TimingRow* row : entry.launches) host = std::min(host, row->host_ns_per_token);
  line.text("device", entry.row->device);
  line.count("sets", entry.row->sets);
  line.number("host_ns_per_token", host);
  if (entry.of_floor > 0) line.number("of_floor", entry.of_floor);
  if (entry.of_floor_copy > 0) line.number("of_floor_copy", entry.of_floor_copy);
}

void append_entry(const BoardEntry& entry, const Contest& contest, const Board& board,
                  std::string& out) {
  CsvLine line;
  const TimingRow& row = *entry.row;
  line.text("row", "timing");
  line.text("kernel", row.kernel);
  line.text("board", board.name);
  line.text("workload", row.workload);
  line.text("phase", row.phase);
  line.text("role", std::string(word(row.role)));
  line.text("variant", row.variant);
  line.count("threads", row.threads);
  line.text("outcome", std::string(word(entry.outcome)));
  line.text("reason", entry.reason);
  if (entry.has_speed) {
    line.count("tokens", row.tokens);
    line.count("bytes", row.bytes);
    line.count("working_set_bytes", row.working_set_bytes);
    line.number("ns_per_token_median", entry.ns);
    line.number("ns_per_token_min", entry.ns_min);
    line.number("ns_per_token_max", entry.ns_max);
    line.number("gb_per_s_median", entry.gb_per_s);
    if (entry.percent_of_ceiling > 0) line.number("percent_of_ceiling", entry.percent_of_ceiling);
    line.count("table_bytes", row.table_bytes);
    line.count("workspace_bytes", row.workspace_bytes);
    if (!row.device.empty()) add_device(entry, line);
    add_claim(entry, contest, line);
    add_census(entry, line);
  }
  line.append_to(out);
}

}  // namespace

std::string render_csv(const Results& results) {
  return csv_of(results, summarize(results));
}

std::string csv_of(const Results& results, const Summary& summary) {
  std::string out;
  for (const char* column : columns) {
    if (!out.empty()) out += ',';
    out += column;
  }
  out += '\n';
  for (const VerdictRow& row : results.verdicts) append_verdict(row, out);
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries) append_entry(entry, contest, board, out);
  return out;
}

}  // namespace ropewalk::report
