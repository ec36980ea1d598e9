#include "reports/pages/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text.h"

namespace ropewalk::report {
namespace {

/// JSON has no word for a number that is not finite.
std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

const TimingRow* launch_of(const BoardEntry& entry, std::int64_t launch) {
  for (const TimingRow* row : entry.launches)
    if (row->launch == launch) return row;
  return nullptr;
}

const BoardEntry* baseline_of(const Contest& contest) {
  for (const BoardEntry& entry : contest.entries)
    if (entry.has_speed && entry.row->role == Role::baseline) return &entry;
  return nullptr;
}

/// For each launch, the ratio of each round to the baseline's round, to five digits.
void append_rounds(const BoardEntry& entry, const BoardEntry& baseline, std::string& out) {
  out += ",\"rounds\":[";
  auto to = std::back_inserter(out);
  bool first_launch = true;
  for (const TimingRow* row : entry.launches) {
    const TimingRow* other = launch_of(baseline, row->launch);
    if (other == nullptr) continue;
    out += first_launch ? "[" : ",[";
    first_launch = false;
    const std::size_t rounds = std::min(row->ns_per_token.size(), other->ns_per_token.size());
    for (std::size_t i = 0; i < rounds; ++i) {
      const double ratio = row->ns_per_token[i] / other->ns_per_token[i];
      if (i > 0) out += ',';
      if (std::isfinite(ratio) && ratio > 0)
        fmt::format_to(to, "{:.5g}", ratio);
      else
        out += "null";
    }
    out += ']';
  }
  out += ']';
}

void append_speed(const BoardEntry& entry, const BoardEntry* baseline, std::string& out) {
  out += ",\"ns_per_token\":" + json_number(entry.ns);
  out += ",\"ns_per_token_min\":" + json_number(entry.ns_min);
  out += ",\"ns_per_token_max\":" + json_number(entry.ns_max);
  out += ",\"gb_per_s\":" + json_number(entry.gb_per_s);
  out += ",\"percent_of_ceiling\":" + json_number(entry.percent_of_ceiling);
  if (entry.is_compared()) {
    out += ",\"ratio\":" + json_number(entry.claim->interval.ratio);
    out += ",\"low\":" + json_number(entry.claim->interval.low);
    out += ",\"high\":" + json_number(entry.claim->interval.high);
  }
  if (baseline != nullptr && entry.is_compared()) append_rounds(entry, *baseline, out);
}

}  // namespace

std::string cells_json(const Summary& summary) {
  std::string out = "[";
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests) {
      const BoardEntry* baseline = baseline_of(contest);
      for (const BoardEntry& entry : contest.entries) {
        out += out.size() > 1 ? ",\n{" : "\n{";
        out += "\"board\":" + json_text(board.name);
        out += ",\"workload\":" + json_text(contest.of->workload);
        out += ",\"threads\":" + std::to_string(contest.of->threads);
        out += ",\"kernel\":" + json_text(entry.row->kernel);
        out += ",\"role\":" + json_text(word(entry.row->role));
        out += ",\"outcome\":" + json_text(word(entry.outcome));
        if (entry.has_speed) append_speed(entry, baseline, out);
        out += '}';
      }
    }
  return out + "\n]";
}

}  // namespace ropewalk::report
