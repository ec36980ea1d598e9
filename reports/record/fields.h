// The fields of each kind of row, listed once, with what they mean: writing, reading, results.csv
// and the schema follow from these lists.
#pragma once
#include <tuple>
#include <type_traits>

#include "reports/record/record.h"

namespace ropewalk::report {

template <class Row, class Value>
struct Field {
  const char* name;
  Value Row::*value;
  const char* unit;          ///< empty: it has none
  const char* meaning;       ///< in one line
  bool is_optional = false;  ///< files from before the field are read too
};
template <class Row, class Value, class... Optional>
Field(const char*, Value Row::*, const char*, const char*, Optional...) -> Field<Row, Value>;

/// All fields of a kind of row, in the order in which they are written.
template <class Row>
inline constexpr auto fields_of = nullptr;
template <>
inline constexpr auto fields_of<RunRow> =
    std::tuple{Field{"version", &RunRow::version, "", "version of ropewalk"},
               Field{"command", &RunRow::command, "", "the command as typed"},
               Field{"started_at", &RunRow::started_at, "", "UTC, ISO 8601"},
               Field{"profile", &RunRow::profile, "", "smoke, standard or full"},
               Field{"seed", &RunRow::seed, "", "seed of all generated data"},
               Field{"margin", &RunRow::margin, "",
                     "FASTER and SLOWER mean by more than this share (bench --margin)"},
               Field{"environment", &RunRow::environment, "",
                     "facts about the machine and the build: name to text"}};
template <>
inline constexpr auto fields_of<VerdictRow> = std::tuple{
    Field{"kernel", &VerdictRow::kernel, "", "name of the kernel"},
    Field{"summary", &VerdictRow::summary, "", "what it is, in its own words"},
    Field{"plugin", &VerdictRow::plugin, "",
          "path of the shared library as it was given, empty for an in-tree kernel"},
    Field{"angle_contract", &VerdictRow::angle_contract, "", "table, exact or f32_angle"},
    Field{"pairing", &VerdictRow::pairing, "", "half_split or interleaved"},
    Field{"dtype", &VerdictRow::dtype, "", "f32, f64, f16 or bf16"},
    Field{"property", &VerdictRow::property, "",
          "name of the property; 'everything' if the verdict is on all properties"},
    Field{"claim", &VerdictRow::claim, "", "the property's claim, in one line"},
    Field{"verdict", &VerdictRow::verdict, "", "what verification says"},
    Field{"reason", &VerdictRow::reason, "",
          "why it is not PASS, in one line; for PASS, what could not be watched here and how many "
          "drawn cases were refused, else empty"},
    Field{"margin", &VerdictRow::margin, "",
          "worst error over its bound; above 1 fails; of a failure, that of shrunk_case"},
    Field{"bound", &VerdictRow::bound, "",
          "the bound at the place of the worst error, in units of bound_unit"},
    Field{"bound_unit", &VerdictRow::bound_unit, "", "unit of bound, e.g. u |pair|"},
    Field{"where", &VerdictRow::where, "",
          "place of the worst error: tensor, batch, token, head, pair, position"},
    Field{"diagnosis", &VerdictRow::diagnosis, "",
          "place, gain and phase of the error; empty if unknown"},
    Field{"planned", &VerdictRow::planned, "", "cases that were planned"},
    Field{"executed", &VerdictRow::executed, "", "cases that were executed"},
    Field{"compared_cases", &VerdictRow::compared_cases, "",
          "executed cases in which something was compared"},
    Field{"compared", &VerdictRow::compared, "", "values that were compared"},
    Field{"shrunk_case", &VerdictRow::shrunk_case, "",
          "the smallest case that fails; of a range that verify --exhaustive held, its case; else "
          "empty"},
    Field{"replay", &VerdictRow::replay, "", "a whole command line that repeats the shrunk case"},
    Field{"seconds", &VerdictRow::seconds, "s", "duration of the property"},
    Field{"known", &VerdictRow::known, "",
          "of a failure that is known: until DATE: reason; empty otherwise"},
    Field{"cause", &VerdictRow::cause, "",
          "of a failure: what the kernel does instead, where its outputs tell; else empty"},
    Field{"worst_margin", &VerdictRow::worst_margin, "",
          "of a failure: the largest margin of all its failing cases; 0 where it is less than a "
          "tenth above margin"},
    Field{"worst_replay", &VerdictRow::worst_replay, "",
          "a whole command line that shows worst_margin; empty where it shows no more"},
    Field{"judged_on", &VerdictRow::judged_on, "",
          "what the verdict rests on: native, host launcher, framework: with interpreter, "
          "exceptions and what is tolerated, or cuda: NAME with the name of the device (cuda if "
          "none was opened)"},
    Field{"declared", &VerdictRow::declared, "",
          "of a kernel that declares a larger error_bound than computing everything in its data "
          "type needs: declared 16 u of bf16 = 6.2 %, derived 5 u; else empty"},
    Field{"coverage", &VerdictRow::coverage, "",
          "on one passing row of each pairing and type: how many interactions of the features that "
          "the kernel offers were met by a case of the covering array; else empty"},
    Field{"not_offered", &VerdictRow::not_offered, "",
          "beside coverage: what the kernel refuses, and so was never judged; of UNSUPPORTED: what "
          "the property needs of that; separated by semicolons"},
    Field{"not_met", &VerdictRow::not_met, "",
          "beside coverage: each interaction that the kernel offers and that no case met"},
    Field{"severity", &VerdictRow::severity, "",
          "of a failed provider of angles: wrong; wrong at an edge (beyond the context, negative, "
          "after a cast); lost precision; a matter of contract; else empty"},
    Field{"same_cause", &VerdictRow::same_cause, "",
          "of a failure: property, pairing and type of an earlier row of the kernel that has the "
          "same cause; else empty",
          true},
    Field{"error", &VerdictRow::error, "",
          "of a FAIL: its error and what is allowed, with the unit; else empty", true},
    Field{"part_of", &VerdictRow::part_of, "",
          "of a range that verify --exhaustive held: the words of the whole range's case, then "
          "call_positions, version, code and oracle; else empty",
          true},
    Field{"group", &VerdictRow::group, "",
          "of the property: rotation, laws, memory, sequences, sizes, axes, norm or append", true},
    Field{"cause_ids", &VerdictRow::cause_ids, "",
          "of a failure: identifiers of what is wrong; failures of a kernel that share one are of "
          "one cause, but for put_right and only_outside, which say what a nameless one is like",
          true},
    Field{"unwatched", &VerdictRow::unwatched, "",
          "of PASS: what could not be watched or judged here, which reason says too; else empty",
          true}};
template <>
inline constexpr auto fields_of<TimingRow> = std::tuple{
    Field{"kernel", &TimingRow::kernel, "", "name of the kernel or of the ceiling"},
    Field{"summary", &TimingRow::summary, "", "the kernel's description, in its own words"},
    Field{"workload", &TimingRow::workload, "", "name of the workload"},
    Field{"source", &TimingRow::source, "", "where the workload's shape comes from"},
    Field{"phase", &TimingRow::phase, "", "decode, prefill or working_set"},
    Field{"board", &TimingRow::board, "",
          "pairing / dtype / placement / angle source, joined by ' / '; a board of a device ends "
          "in / cuda; a ceiling names only those that matter to it"},
    Field{"outcome", &TimingRow::outcome, "", "the outcome of timing"},
    Field{"reason", &TimingRow::reason, "", "why there is no speed, e.g. the failing property"},
    Field{"known", &TimingRow::known, "",
          "of BROKEN by a known failure: until DATE: reason; else empty"},
    Field{"tokens", &TimingRow::tokens, "", "tokens of one call: batch * tokens"},
    Field{"bytes", &TimingRow::bytes, "bytes", "what a kernel must move in one call"},
    Field{"working_set_bytes", &TimingRow::working_set_bytes, "bytes", "what one call touches"},
    Field{"ns_per_token", &TimingRow::ns_per_token, "ns",
          "time per token of every round, in order; empty if BROKEN"},
    Field{"iterations", &TimingRow::iterations, "", "calls in each round"},
    Field{"probe_ns", &TimingRow::probe_ns, "ns",
          "of each round of the host: what a piece of independent work took just before or just "
          "after it, whichever was longer; empty if not probed"},
    Field{"ns_per_token_median", &TimingRow::ns_per_token_median, "ns", "median of ns_per_token"},
    Field{"gb_per_s_median", &TimingRow::gb_per_s_median, "10^9 bytes per second",
          "bytes divided by the median time"},
    Field{"role", &TimingRow::role, "",
          "kernel, baseline (what ratios are to), null_twin (the baseline a second time, as NAME "
          "(twin)), ceiling or floor (of a device)"},
    Field{"launch", &TimingRow::launch, "", "number of the launch, a fresh process, from 0"},
    Field{"epoch_us", &TimingRow::epoch_us, "us",
          "the aimed time of a round of an ordinary contestant"},
    Field{"threads", &TimingRow::threads, "",
          "threads that ran at the same time, each on a set of its own; tokens, bytes and "
          "working_set_bytes are of one set, times and GB/s of all threads together"},
    Field{"processors", &TimingRow::processors, "",
          "of several threads: where they were pinned; a + joins siblings, threads of one core "
          "(0+4,1)"},
    Field{"variant", &TimingRow::variant, "", "of a ceiling: the loop that was used"},
    Field{"table_bytes", &TimingRow::table_bytes, "bytes", "the tables that the kernel was given"},
    Field{"workspace_bytes", &TimingRow::workspace_bytes, "bytes",
          "workspace that the kernel asked for"},
    Field{"judged_on", &TimingRow::judged_on, "",
          "as in a verdict: what ran the kernel; empty for a ceiling"},
    Field{"heap_calls", &TimingRow::heap_calls, "",
          "calls of the allocator in one call of a framework; 0 for others"},
    Field{"mapped_bytes", &TimingRow::mapped_bytes, "bytes",
          "by how much the mapped memory grows in one call of a framework; 0 for others"},
    Field{"prepare_s", &TimingRow::prepare_s, "s",
          "the kernel's prepare, for all states of one set"},
    Field{"kept_bytes", &TimingRow::kept_bytes, "bytes",
          "the heap that prepare keeps; 0 where the C library does not tell"},
    Field{"slow_calls", &TimingRow::slow_calls, "",
          "calls of a slow start, which was not timed; 0 if none was seen"},
    Field{"slow_times", &TimingRow::slow_times, "", "how many times as long these calls took"},
    Field{"involuntary_switches", &TimingRow::involuntary_switches, "",
          "number of times the process was taken off its processor while timed"},
    Field{"page_faults", &TimingRow::page_faults, "", "number of page faults while timed"},
    Field{"steal_ms", &TimingRow::steal_ms, "ms",
          "time of all processors that the host gave to others meanwhile"},
    Field{"off_cpu_share", &TimingRow::off_cpu_share, "",
          "1 - CPU time / wall time of the timed epochs"},
    Field{"reverified", &TimingRow::reverified, "",
          "number of timed rounds with outputs that were judged again"},
    Field{"context_switches", &TimingRow::context_switches, "",
          "context switches of the process in one call of a framework; 0 for others"},
    Field{"between_calls", &TimingRow::between_calls, "",
          "processors that its own threads use between calls; 0 where it keeps none"},
    Field{"device", &TimingRow::device, "",
          "name, compute capability, multiprocessors, L2 and driver of the device; in a row of the "
          "host this and the fields below are empty or 0"},
    Field{"sets", &TimingRow::sets, "",
          "number of sets of buffers that the calls went round; 1: hot"},
    Field{"host_ns_per_token", &TimingRow::host_ns_per_token, "ns",
          "least time per token by the host's clock around launch and wait; ns_per_token is by the "
          "device's own clock"},
    Field{"sm_mhz_before", &TimingRow::sm_mhz_before, "MHz",
          "clock of the multiprocessors before the rounds; 0: not known"},
    Field{"sm_mhz_after", &TimingRow::sm_mhz_after, "MHz", "the same after the rounds"},
    Field{"throttled", &TimingRow::throttled, "",
          "why the device slowed down, in words; empty: it did not, or that is not known"}};
template <>
inline constexpr auto fields_of<CurveRow> = std::tuple{
    Field{"chart", &CurveRow::chart, "", "name of the chart: decay, error_over_position"},
    Field{"series", &CurveRow::series, "", "reference, or the name of a kernel"},
    Field{"note", &CurveRow::note, "", "parameters in words"},
    Field{"dtype", &CurveRow::dtype, "",
          "of error_over_position: the data type of the kernel's tensors; else empty"},
    Field{"x", &CurveRow::x, "", "abscissae"},
    Field{"y", &CurveRow::y, "", "ordinates, as many as abscissae"}};
template <>
inline constexpr auto fields_of<KernelRow> = std::tuple{
    Field{"kernel", &KernelRow::kernel, "", "name of the kernel"},
    Field{"summary", &KernelRow::summary, "", "what it is, in its own words"},
    Field{"plugin", &KernelRow::plugin, "",
          "path of the shared library as it was given, empty for an in-tree kernel"},
    Field{"angle_contract", &KernelRow::angle_contract, "", "table, exact or f32_angle"},
    Field{"memory", &KernelRow::memory, "", "host or cuda: where the kernel's buffers lie"},
    Field{"cpu_features", &KernelRow::cpu_features, "", "processor features that the kernel needs"},
    Field{"cannot_run", &KernelRow::cannot_run, "",
          "why this machine cannot run it; empty if it can"},
    Field{"judged_on", &KernelRow::judged_on, "",
          "what a verdict on it would rest on here, as of a verdict"},
    Field{"error_bound", &KernelRow::error_bound, "",
          "the declared bound in u of the data type; 0: the suite's own bounds"}};
template <>
inline constexpr auto fields_of<SaidRow> = std::tuple{
    Field{"heads", &SaidRow::heads, "", "of all columns but the first, which are numbers"},
    Field{"rows", &SaidRow::rows, "", "the cells of each row"}};
template <>
inline constexpr auto fields_of<EndRow> =
    std::tuple{Field{"exit_code", &EndRow::exit_code, "", "exit code of the command"},
               Field{"seconds", &EndRow::seconds, "s", "duration of the run"},
               Field{"finished_at", &EndRow::finished_at, "", "UTC, ISO 8601"}};

/// Calls visit(Field) for each field of a kind of row.
template <class Row, class Visit>
void for_each_field(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields_of<Row>);
}
/// Calls visit("NAME", row.NAME) for each field.
template <class Row, class Visit>
void each_field(Row& row, Visit&& visit) {
  for_each_field<std::remove_const_t<Row>>(
      [&](const auto& field) { visit(field.name, row.*field.value); });
}

}  // namespace ropewalk::report
