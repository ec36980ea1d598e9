// The fields of each kind of row, listed once: writing, reading and results.csv follow from these
// lists.
#pragma once
#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <concepts>
#include <type_traits>

#include "reports/record/record.h"

namespace ropewalk::report {

#define ROPEWALK_VISIT_FIELD(r, row, field) visit(BOOST_PP_STRINGIZE(field), row.field);
/// Defines `function(row, visit)`, which calls visit("NAME", row.NAME) for each of the names.
#define ROPEWALK_FIELDS(function, Kind, ...)                                                \
  template <class Row, class Visit>                                                         \
  requires std::same_as<std::remove_const_t<Row>, Kind>                                     \
  void function(Row& row, Visit&& visit) {                                                  \
    BOOST_PP_SEQ_FOR_EACH(ROPEWALK_VISIT_FIELD, row, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__)) \
  }

ROPEWALK_FIELDS(each_field, RunRow, version, command, started_at, profile, seed, margin,
                environment)
ROPEWALK_FIELDS(each_field, VerdictRow, kernel, summary, plugin, angle_contract, pairing, dtype,
                property, claim, verdict, reason, margin, bound, bound_unit, where, diagnosis,
                planned, executed, compared_cases, compared, shrunk_case, replay, seconds, known,
                cause, worst_margin, worst_replay, judged_on, declared, coverage, not_offered,
                not_met, severity, same_cause, error, part_of)
ROPEWALK_FIELDS(each_field, TimingRow, kernel, summary, workload, source, phase, board, outcome,
                reason, known, tokens, bytes, working_set_bytes, ns_per_token, iterations, probe_ns,
                ns_per_token_median, gb_per_s_median, role, launch, epoch_us, threads, processors,
                variant, table_bytes, workspace_bytes, judged_on, heap_calls, mapped_bytes,
                prepare_s, kept_bytes, slow_calls, slow_times, involuntary_switches, page_faults,
                steal_ms, off_cpu_share, reverified, context_switches, between_calls, device, sets,
                host_ns_per_token, sm_mhz_before, sm_mhz_after, throttled)
ROPEWALK_FIELDS(each_field, CurveRow, chart, series, note, dtype, x, y)
ROPEWALK_FIELDS(each_field, KernelRow, kernel, summary, plugin, angle_contract, memory,
                cpu_features, cannot_run, judged_on, error_bound)
ROPEWALK_FIELDS(each_field, EndRow, exit_code, seconds, finished_at)

#undef ROPEWALK_FIELDS
#undef ROPEWALK_VISIT_FIELD

}  // namespace ropewalk::report
