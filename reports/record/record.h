// The result schema: the rows of results.jsonl, written one line at a time and read back.
//
// reports/record/fields.h says what each field means, and docs/results-schema.md describes the
// file. A double that is not finite is written as the string "inf", "-inf" or "nan".
#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/descriptor.h"
#include "base/text_file.h"
#include "reports/record/record_words.h"

namespace ropewalk::report {

inline constexpr int results_schema_version = 1;

/// The first row of a run: the command, the profile, the seed and the machine.
struct RunRow {
  static constexpr std::string_view kind = "run";
  std::string version, command, started_at, profile;
  std::uint64_t seed = 0;
  double margin = 0.01;
  std::map<std::string, std::string> environment;
};

struct VerdictRow;
/// Of two failures of a kernel, the reader should see the one that tells more first. An unknown
/// failure goes before a known one, then one that a replay line shows, then one with a cause, then
/// agreement, then one with a broken rule.
bool tells_more(const VerdictRow& a, const VerdictRow& b);

/// The verdict on one kernel, contract and property.
struct VerdictRow {
  static constexpr std::string_view kind = "verdict";
  std::string kernel, summary, plugin, angle_contract, pairing, dtype, property, claim;
  Verdict verdict = Verdict::fail;
  std::string reason;
  double margin = 0, bound = 0;
  std::string bound_unit, where, diagnosis;
  std::int64_t planned = 0, executed = 0, compared_cases = 0, compared = 0;
  std::string shrunk_case, replay;
  double seconds = 0;
  std::string known, cause;
  double worst_margin = 0;
  std::string worst_replay, judged_on, declared, coverage, not_offered;
  std::vector<std::string> not_met, cause_ids;
  std::string severity, same_cause, error, part_of, group, unwatched;
};

/// The property name of a verdict on all properties at once, e.g. for a kernel that cannot run
/// here.
inline constexpr std::string_view everything = "everything";
bool is_on_everything(const VerdictRow& row);

/// Words of VerdictRow::judged_on. A verdict by the host launcher says nothing about a GPU.
inline constexpr std::string_view natively = "native";
inline constexpr std::string_view by_host_launcher = "host launcher";
/// What the words of a kernel begin with that ran on a device.
inline constexpr std::string_view by_device = "cuda: ";
/// What the words of a kernel begin with that makes exceptions of the contract, or is tolerated to:
/// "framework: python 3.11.7, numpy 2.4.6; allocates".
inline constexpr std::string_view framework = "framework: ";
/// What stands beside the kernel's name wherever its verdict is shown. It is empty for a native
/// kernel and if the row does not tell.
std::string words_beside(const std::string& judged_on);
/// The same with VerdictRow::declared: "host launcher; declared 16 u of bf16 = 6.2 %, ...".
std::string words_beside(const std::string& judged_on, const std::string& declared);
inline std::string words_beside(const VerdictRow& row) {
  return words_beside(row.judged_on, row.declared);
}
struct TimingRow;
/// The same with what the calls of a framework allocate, and with a long prepare.
std::string words_beside(const TimingRow& row);
/// The kernel's name as a ranking shows it: that of a framework says so.
std::string ranked_name(const TimingRow& row);

/// One contestant on one workload in one launch. A launch is a fresh process.
struct TimingRow {
  static constexpr std::string_view kind = "timing";
  std::string kernel, summary, workload, source;
  std::string phase;  ///< a foreign file may hold words that are none of WorkloadPhase
  std::string board;
  Outcome outcome = Outcome::broken;
  std::string reason, known;
  std::int64_t tokens = 0, bytes = 0, working_set_bytes = 0;
  std::vector<double> ns_per_token;
  std::vector<std::int64_t> iterations, probe_ns;
  double ns_per_token_median = 0, gb_per_s_median = 0;
  Role role = Role::kernel;
  std::int64_t launch = 0;
  double epoch_us = 0;
  std::int64_t threads = 1;
  std::string processors, variant;
  std::int64_t table_bytes = 0, workspace_bytes = 0;
  std::string judged_on;
  double heap_calls = 0, mapped_bytes = 0, context_switches = 0, between_calls = 0, prepare_s = 0;
  std::int64_t kept_bytes = 0, slow_calls = 0;
  double slow_times = 0;
  std::int64_t involuntary_switches = 0, page_faults = 0;
  double steal_ms = 0, off_cpu_share = 0;
  std::int64_t reverified = 0;
  std::string device;
  std::int64_t sets = 0;
  double host_ns_per_token = 0, sm_mhz_before = 0, sm_mhz_after = 0;
  std::string throttled;
  bool is_ceiling() const { return role == Role::ceiling; }
  bool is_floor() const { return role == Role::floor; }
  bool is_reference() const { return report::is_reference(role); }
  bool is_twin() const { return role == Role::null_twin; }
};

/// The two rows of role floor: an empty kernel, and one that reads a position, its table row and x,
/// and writes x back.
inline constexpr std::string_view floor_name = "floor", floor_copy_name = "floor_copy";

/// The null twin of kernel X is called 'X (twin)'. No kernel can have such a name.
inline constexpr std::string_view twin_suffix = " (twin)";
/// Kernel X with a pass of its own for each of norm, rotation and copy is called 'X (unfused)'.
inline constexpr std::string_view unfused_suffix = " (unfused)";
/// The kernel that a row is about: the name without these suffixes.
std::string kernel_of(const TimingRow& row);

/// One named curve for a chart, e.g. the decay bound B(D).
struct CurveRow {
  static constexpr std::string_view kind = "curve";
  std::string chart, series, note;
  std::vector<double> x, y;
  std::string dtype = {};
};

/// One kernel that exists, as `list --json` prints it. A results file holds no such row.
struct KernelRow {
  static constexpr std::string_view kind = "kernel";
  std::string kernel, summary, plugin, angle_contract, memory, cpu_features, cannot_run, judged_on;
  double error_bound = 0;
};

/// A table that Python says, for this command to print. No results file holds such a row.
struct SaidRow {
  static constexpr std::string_view kind = "said";
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};

/// The last row: the run reached its end.
struct EndRow {
  static constexpr std::string_view kind = "end";
  int exit_code = 0;
  double seconds = 0;
  std::string finished_at;
};

struct Results {
  RunRow run;
  std::vector<VerdictRow> verdicts;
  std::vector<TimingRow> timings;
  std::vector<CurveRow> curves;
  EndRow end;
  bool complete = false;  ///< an end row was found
};

/// The row as one line of JSON without a newline, as a results file holds it and --json prints it.
template <class Row>
std::string to_json_line(const Row& row);

/// The JSON Schema (2020-12) of a line, with the unit and the meaning of each field.
std::string results_schema();

/// Appends rows to a file. Each row is one line, written whole and flushed, so a kill loses at most
/// the row being written. Throws std::runtime_error with one clear line if the file cannot be
/// written.
class RecordWriter {
 public:
  explicit RecordWriter(const std::filesystem::path& file);
  /// Accepts every kind of row except KernelRow.
  template <class Row>
  requires(!std::same_as<Row, KernelRow>) void write(const Row& row) {
    write_line(to_json_line(row));
  }

 private:
  void write_line(const std::string& line);
  std::filesystem::path file_;
  Descriptor descriptor_;
};

/// The reverse, for a row that another process of this command sent. Throws BadFile.
template <class Row>
Row row_from(const std::string& json_line);

/// Reads a results file. A last line without a newline is the mark of a kill and is dropped. Any
/// other line that is not a row of this schema version throws BadFile with the line number. Never
/// crashes on foreign bytes.
Results read_results(const std::filesystem::path& file);

/// Every row begins with these bytes. If the unfinished last line begins otherwise, the file is
/// foreign and is not repaired.
inline constexpr std::string_view record_line_start = R"({"schema":)";

/// Calls visit(line, number) for each line that ends in a newline. Numbers start at 1. Bytes after
/// the last newline are dropped. Returns the number of lines. Throws BadFile if the file cannot be
/// read or a line is longer than 16 MiB.
std::int64_t for_each_whole_line(
    const std::filesystem::path& file,
    const std::function<void(std::string_view line, std::int64_t number)>& visit);

/// True if a run has begun in the file. False if the file does not exist or a kill left no whole
/// line. Throws BadFile as above.
bool has_whole_line(const std::filesystem::path& file);

/// The fingerprint of the rows. A report tells by it which results it was made from.
std::string fingerprint_of(const Results& results);

}  // namespace ropewalk::report
