// The fields of a timing row, listed once.
#pragma once
#include <concepts>
#include <type_traits>

#include "reports/record/record.h"

namespace ropewalk::report {

template <class Row>
concept TimingRowLike = std::same_as<std::remove_const_t<Row>, TimingRow>;

template <TimingRowLike Row, class Visit>
void each_field(Row& row, Visit&& visit) {
  visit("kernel", row.kernel);
  visit("summary", row.summary);
  visit("workload", row.workload);
  visit("source", row.source);
  visit("phase", row.phase);
  visit("board", row.board);
  visit("outcome", row.outcome);
  visit("reason", row.reason);
  visit("known", row.known);
  visit("tokens", row.tokens);
  visit("bytes", row.bytes);
  visit("working_set_bytes", row.working_set_bytes);
  visit("ns_per_token", row.ns_per_token);
  visit("iterations", row.iterations);
  visit("ns_per_token_median", row.ns_per_token_median);
  visit("gb_per_s_median", row.gb_per_s_median);
  visit("role", row.role);
  visit("launch", row.launch);
  visit("epoch_us", row.epoch_us);
  visit("threads", row.threads);
  visit("processors", row.processors);
  visit("variant", row.variant);
  visit("table_bytes", row.table_bytes);
  visit("workspace_bytes", row.workspace_bytes);
  visit("judged_on", row.judged_on);
  visit("heap_calls", row.heap_calls);
  visit("mapped_bytes", row.mapped_bytes);
  visit("prepare_s", row.prepare_s);
  visit("kept_bytes", row.kept_bytes);
  visit("slow_calls", row.slow_calls);
  visit("slow_times", row.slow_times);
  visit("spin_ns_before", row.spin_ns_before);
  visit("spin_ns_after", row.spin_ns_after);
  visit("involuntary_switches", row.involuntary_switches);
  visit("page_faults", row.page_faults);
  visit("steal_ms", row.steal_ms);
  visit("off_cpu_share", row.off_cpu_share);
  visit("reverified", row.reverified);
}

/// The fields of a row of a framework, which other rows leave out.
template <TimingRowLike Row, class Visit>
void each_framework_field(Row& row, Visit&& visit) {
  visit("context_switches", row.context_switches);
  visit("between_calls", row.between_calls);
}

/// The fields of a row of a device, which a row of the host leaves out.
template <TimingRowLike Row, class Visit>
void each_device_field(Row& row, Visit&& visit) {
  visit("device", row.device);
  visit("sets", row.sets);
  visit("host_ns_per_token", row.host_ns_per_token);
  visit("sm_mhz_before", row.sm_mhz_before);
  visit("sm_mhz_after", row.sm_mhz_after);
  visit("throttled", row.throttled);
}

}  // namespace ropewalk::report
