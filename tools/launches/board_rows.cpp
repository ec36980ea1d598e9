#include "tools/launches/board_rows.h"

#include <algorithm>
#include <cmath>

#include "base/printable.h"

namespace ropewalk::tools {
using namespace report;
namespace {

constexpr std::size_t most_text_bytes = 1000;

std::string shown(const std::string& text) {
  return printable_start(text, most_text_bytes);
}

bool is_count(double value) {
  return std::isfinite(value) && value >= 0;
}

std::string unknown_name(const TimingRow& row, const BoardRequest& request) {
  const bool known_workload =
      std::any_of(request.workloads.begin(), request.workloads.end(),
                  [&](const bench::Workload& w) { return w.name == row.workload; });
  if (!known_workload) return "workload '" + shown(row.workload) + "'";
  if (!row.is_reference() && !request.contestants.contains(kernel_of(row)))
    return "kernel '" + shown(row.kernel) + "'";
  return {};
}

bool has_possible_numbers(const TimingRow& row) {
  const bool is_measured = row.outcome == Outcome::measured;
  return is_measured != row.ns_per_token.empty() &&
         row.ns_per_token.size() == row.iterations.size() &&
         std::all_of(row.ns_per_token.begin(), row.ns_per_token.end(),
                     [](double ns) { return std::isfinite(ns) && ns > 0; }) &&
         std::all_of(row.iterations.begin(), row.iterations.end(),
                     [](std::int64_t calls) { return calls > 0; }) &&
         is_count(row.ns_per_token_median) && is_count(row.gb_per_s_median) &&
         is_count(row.spin_ns_before) && is_count(row.spin_ns_after) &&
         is_count(row.off_cpu_share) && is_count(row.heap_calls) && is_count(row.prepare_s) &&
         is_count(row.slow_times) && std::isfinite(row.mapped_bytes) && std::isfinite(row.steal_ms);
}

}  // namespace

TimingRow board_row_from(const std::string& json, const BoardRequest& request) {
  TimingRow row = timing_row_from(json);
  if (const std::string name = unknown_name(row, request); !name.empty())
    throw BadFile("the board has no " + name);
  if (!has_possible_numbers(row)) throw BadFile("a number of it cannot be measured");
  row.summary = shown(row.summary);
  row.reason = shown(row.reason);
  row.judged_on = shown(row.judged_on);
  row.device = shown(row.device);
  row.throttled = shown(row.throttled);
  row.steal_ms = std::max(row.steal_ms, 0.0);  // some hypervisors take ticks back
  return row;
}

}  // namespace ropewalk::tools
