#include "tools/launches/board_rows.h"

#include <algorithm>

#include "base/printable.h"
#include "benchmarks/cells/cells.h"

namespace ropewalk::tools {
using namespace bench;
using namespace report;
namespace {

constexpr std::size_t most_text_bytes = 1000;

std::string shown(const std::string& text) {
  return printable_start(text, most_text_bytes);
}

std::string unknown_name(const TimingRow& row, const BoardRequest& request) {
  if (std::ranges::count(request.workloads, row.workload, &Workload::name) == 0)
    return "workload '" + shown(row.workload) + "'";
  if (!row.is_reference() && !request.kernels.contains(kernel_of(row)))
    return "kernel '" + shown(row.kernel) + "'";
  return {};
}

/// Beyond what row_from() asks of each number.
bool has_possible_times(const TimingRow& row) {
  const auto is_above_0 = [](auto number) { return number > 0; };
  return (row.outcome == Outcome::measured) != row.ns_per_token.empty() &&
         std::ranges::all_of(row.ns_per_token, is_above_0) &&
         std::ranges::all_of(row.iterations, is_above_0);
}

}  // namespace

TimingRow board_row_from(const std::string& json, const BoardRequest& request) {
  TimingRow row = row_from<TimingRow>(json);
  if (const std::string name = unknown_name(row, request); !name.empty())
    throw BadFile("the board has no " + name);
  if (!has_possible_times(row)) throw BadFile("a number of it cannot be measured");
  row.summary = shown(row.summary);
  row.reason = shown(row.reason);
  row.judged_on = shown(row.judged_on);
  row.device = shown(row.device);
  row.throttled = shown(row.throttled);
  row.steal_ms = std::max(row.steal_ms, 0.0);  // some hypervisors take ticks back
  return row;
}

std::string kernel_of_label(const std::string& label) {
  TimingRow row;
  row.kernel = label.substr(0, label.find('|'));
  if (row.kernel.ends_with(twin_suffix)) row.role = Role::null_twin;
  return kernel_of(row);
}

std::int32_t memory_of(const TimingRow& row) {
  return row.board.ends_with(device_board) ? ROPE_CUDA : ROPE_HOST;
}

std::string group_of(const TimingRow& row) {
  return group_name(row.workload, row.board, row.threads);
}

}  // namespace ropewalk::tools
