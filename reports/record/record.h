// The result schema: the rows of results.jsonl, written one line at a time and read back.
//
// reports/record/results.schema.json describes every field, and docs/results-schema.md the file. A
// double that is not finite is written as the string "inf", "-inf" or "nan".
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
  std::string version;     ///< version of ropewalk
  std::string command;     ///< the command line as typed
  std::string started_at;  ///< UTC, ISO 8601
  std::string profile;     ///< smoke, standard, full
  std::uint64_t seed = 0;
  double margin = 0.01;  ///< a share: FASTER and SLOWER mean by more (bench --margin)
  std::map<std::string, std::string> environment;  ///< e.g. cpu, caches, compiler, libraries
};

struct VerdictRow;
/// Ends the reason of a failure that no replay line shows.
inline constexpr std::string_view held_again =
    " (it held when it was made again, alone, in a new process)";
/// Of two failures of a kernel, the reader should see the one that tells more first. An unknown
/// failure goes before a known one, then one that a replay line shows, then one with a cause, then
/// agreement, then one with a broken rule.
bool tells_more(const VerdictRow& a, const VerdictRow& b);

/// The verdict on one kernel and one property.
struct VerdictRow {
  static constexpr std::string_view kind = "verdict";
  std::string kernel, summary, plugin;  ///< plugin: path as given; empty for an in-tree kernel
  std::string angle_contract;           ///< table, exact, f32_angle
  std::string pairing, dtype;           ///< e.g. half_split and f32
  std::string property, claim;          ///< the property's name and its claim in one line
  Verdict verdict = Verdict::fail;
  std::string reason;      ///< why it is not PASS, in one line; for PASS, what was not watched
  double margin = 0;       ///< worst error / bound; above 1 the property fails
  double bound = 0;        ///< the bound where the margin was found, in `bound_unit`
  std::string bound_unit;  ///< e.g. "u rho"
  std::string where;       ///< tensor, batch, token, head, pair, position
  std::string diagnosis;   ///< place, gain and phase of the error; empty if unknown
  std::int64_t planned = 0, executed = 0;  ///< numbers of cases
  std::int64_t compared_cases = 0;         ///< cases in which at least one value was compared
  std::int64_t compared = 0;               ///< number of values compared
  std::string shrunk_case, replay;         ///< set for a failure; replay is a whole command line
  double seconds = 0;
  std::string known;  ///< set for a known failure: its expiry date, and why it is tolerated
  std::string cause;  ///< set for a failure if the outputs show what the kernel does instead
  /// Set for a failure: the largest margin among all failing cases, and a command line that shows
  /// it. They are 0 and empty if the shrunk case has the largest margin.
  double worst_margin = 0;
  std::string worst_replay;
  /// What the verdict rests on: "native", "host launcher", or "cuda: " and the name of the device.
  std::string judged_on;
  /// Set if the kernel declares an error_bound beyond what computing everything in its data type
  /// can need: the declared bound and the derived one, in words. A PASS is then one by its own
  /// bound.
  std::string declared;
  // What the cases of the covering array met, on one passing row of each pairing and type.
  std::string coverage;     ///< "covered 100 % of 2-way interactions of what the kernel offers"
  std::string not_offered;  ///< what the kernel refuses and so was never judged, in words
  std::vector<std::string> not_met;  ///< interactions that it offers and no case met, in words
  /// Of a failed provider of angles: wrong, edge (beyond the context, negative, after a cast),
  /// precision (bits are lost) or contract (an f32 angle, as trained).
  std::string severity;
  /// Set for a failure: the property, pairing and type of an earlier row of the kernel that has the
  /// same cause; and its error beside what is allowed, in the console's units. Empty: none.
  std::string same_cause, error;
  /// Of a range that verify --exhaustive held, which is shrunk_case: the case of the whole range,
  /// and what parts of one certificate agree in, as words. No time and no path.
  std::string part_of;
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
  std::string kernel, summary;
  std::string workload, source;  ///< the workload's name, and the source of its shape
  std::string phase;             ///< a word of WorkloadPhase; a foreign file may hold other words
  /// pairing/dtype/placement/angle source: the group that is ranked. That of a device ends in
  /// " / cuda".
  std::string board;
  Outcome outcome = Outcome::broken;  ///< MEASURED, BROKEN, SKIPPED or IMPLAUSIBLE
  std::string reason;                 ///< for BROKEN: the failing property
  std::string known;                  ///< for BROKEN by a known failure: VerdictRow::known of it
  std::int64_t tokens = 0;            ///< batch * tokens of the workload, per call
  std::int64_t bytes = 0;             ///< bytes that a kernel must move in one call
  std::int64_t working_set_bytes = 0;
  /// The time of every round, in order; empty if BROKEN. Index i is round i of the launch for every
  /// contestant of the workload. Ratios are formed round by round.
  std::vector<double> ns_per_token;
  std::vector<std::int64_t> iterations;  ///< calls in each round
  /// Of each round of the host, what a piece of independent work took just before or just after it,
  /// whichever was longer, in ns. It is longer beside a neighbour on the core. Empty: not probed.
  std::vector<std::int64_t> probe_ns;
  double ns_per_token_median = 0, gb_per_s_median = 0;
  Role role = Role::kernel;
  std::int64_t launch = 0;  ///< counted from 0
  double epoch_us = 0;      ///< the aimed time of a round of an ordinary contestant, in us
  /// Threads that run at the same time. Each works on its own set of `tokens`, `bytes` and
  /// `working_set_bytes`. ns_per_token and GB/s are those of all threads together.
  std::int64_t threads = 1;
  std::string processors;  ///< of several threads; siblings of a core are joined: 0+4,1
  std::string variant;     ///< of a ceiling: the loop that was used
  std::int64_t table_bytes = 0, workspace_bytes = 0;
  std::string judged_on;  ///< as VerdictRow::judged_on; empty for a ceiling
  /// What a framework does in one call: calls of the allocator, and bytes that it maps and keeps.
  double heap_calls = 0, mapped_bytes = 0;
  /// Of a framework: context switches in one call, and the processors that its own threads use
  /// between calls.
  double context_switches = 0, between_calls = 0;
  /// What the kernel's prepare takes, for all states of one set, and the bytes of the heap that it
  /// keeps.
  double prepare_s = 0;
  std::int64_t kept_bytes = 0;
  /// A slow start, which was not timed: so many calls took so many times as long. 0: none was seen.
  std::int64_t slow_calls = 0;
  double slow_times = 0;
  // The counters of what disturbed the rounds.
  std::int64_t involuntary_switches = 0, page_faults = 0;
  double steal_ms = 0;          ///< summed over all processors, from /proc/stat
  double off_cpu_share = 0;     ///< 1 - CPU time / wall time
  std::int64_t reverified = 0;  ///< number of rounds with outputs that were judged again
  // Of a device only; a row of the host says nothing here.
  std::string device;     ///< name, compute capability, multiprocessors, L2, driver; empty: host
  std::int64_t sets = 0;  ///< number of sets of buffers that the calls went round; 1: hot
  /// The least time by the host's clock around launch and wait. ns_per_token is the device's own.
  double host_ns_per_token = 0;
  double sm_mhz_before = 0, sm_mhz_after = 0;  ///< clock of the multiprocessors; 0: not known
  std::string throttled;  ///< why the device slowed down, in words; empty: it did not, or not known
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
  std::string chart;   ///< decay
  std::string series;  ///< "reference" or the name of a kernel
  std::string note;    ///< the parameters in words
  std::vector<double> x, y;
  std::string dtype = {};  ///< for chart error_over_position: the type of the kernel's data
};

/// One kernel that exists, as `list --json` prints it. A results file holds no such row.
struct KernelRow {
  static constexpr std::string_view kind = "kernel";
  std::string kernel, summary, plugin, angle_contract;
  std::string memory;        ///< "host" or "cuda": where the kernel's buffers lie
  std::string cpu_features;  ///< features that the kernel needs
  std::string cannot_run;    ///< why it cannot run on this machine; empty if it can
  std::string judged_on;     ///< what a verdict here would rest on, as VerdictRow::judged_on
  double error_bound = 0;    ///< declared, in u of the data type; 0: the suite's own bounds
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
