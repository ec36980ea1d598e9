// The result schema: the rows of results.jsonl, written one line at a time and read back.
//
// docs/results-schema.md explains every field; reports/record/results.schema.json is the same for
// machines. Doubles that are not finite are written as the strings "inf", "-inf", "nan".
#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bad_file.h"
#include "reports/record/record_words.h"

namespace ropewalk::report {

inline constexpr int results_schema_version = 1;

/// First row of a run: what was asked, with what, where.
struct RunRow {
  std::string version;     ///< of ropewalk
  std::string command;     ///< as typed
  std::string started_at;  ///< UTC, ISO 8601
  std::string profile;     ///< smoke, standard, full
  std::uint64_t seed = 0;
  std::map<std::string, std::string> environment;  ///< cpu, caches, compiler, libraries, ...
};

struct VerdictRow;
/// Of two failures the one to read first: not known, with a cause, or else with a broken rule.
bool tells_more(const VerdictRow& a, const VerdictRow& b);

/// What is said of one kernel and one property.
struct VerdictRow {
  std::string kernel, summary, plugin;  ///< plugin: path as given, empty for an in-tree kernel
  std::string angle_contract;           ///< table, exact, f32_angle
  std::string pairing, dtype;           ///< half_split, interleaved; f32, f64, ...
  std::string property, claim;          ///< name, and what it says in one line
  Verdict verdict = Verdict::fail;
  std::string reason;      ///< why not PASS, in one line; of PASS what was not watched
  double margin = 0;       ///< worst error / bound; > 1 fails
  double bound = 0;        ///< the bound at that place, in units of `bound_unit`
  std::string bound_unit;  ///< e.g. "u rho"
  std::string where;       ///< tensor, batch, token, head, pair, position
  std::string diagnosis;   ///< place, gain and phase of the error, empty if none
  std::int64_t planned = 0, executed = 0;  ///< cases
  std::int64_t compared_cases = 0;         ///< cases with something compared
  std::int64_t compared = 0;               ///< values compared
  std::string shrunk_case, replay;         ///< of a failure; replay is a whole command line
  double seconds = 0;
  std::string known;  ///< of a failure that is known: until when, and why it is let be
  std::string cause;  ///< of a failure: what the kernel does instead, where the outputs tell
  /// Of a failure: the largest margin of all its failing cases, and a command line that shows it.
  /// 0 and empty where the shrunk case has the largest.
  double worst_margin = 0;
  std::string worst_replay;
};

/// The property of a verdict on all properties at once, e.g. of a kernel that cannot run here.
inline constexpr std::string_view everything = "everything";
/// Older files say it by no word, by "*" or by "any".
bool is_on_everything(const VerdictRow& row);

/// One contestant on one workload in one launch, which is a fresh process.
struct TimingRow {
  std::string kernel, summary;
  std::string workload, source;       ///< its name and where its shape comes from
  std::string phase;                  ///< decode, prefill, working_set
  std::string board;                  ///< pairing/dtype/placement/angle source: ranked together
  Outcome outcome = Outcome::broken;  ///< MEASURED, BROKEN or SKIPPED; older files have more
  std::string reason;                 ///< of BROKEN: the failing property
  std::int64_t tokens = 0;            ///< batch * tokens of the workload
  std::int64_t bytes = 0;             ///< a kernel must move in one call
  std::int64_t working_set_bytes = 0;
  /// Every repetition or round, in order; empty when BROKEN. Of engine paired, index i is round i
  /// of the launch for every contestant of the workload: ratios are formed round by round.
  std::vector<double> ns_per_token;
  std::vector<std::int64_t> iterations;  ///< of each repetition; of engine paired all the same
  double ns_per_token_median = 0, gb_per_s_median = 0;
  Role role = Role::kernel;
  Engine engine = Engine::paired;
  std::int64_t launch = 0;  ///< from 0
  /// At the same time, each on a set of its own of `tokens`, `bytes` and `working_set_bytes`;
  /// ns_per_token and GB/s are of all of them together.
  std::int64_t threads = 1;
  std::string processors;  ///< of several threads; siblings of a core are joined: 0+4,1
  std::string variant;     ///< of a ceiling: which one was taken
  std::int64_t table_bytes = 0, workspace_bytes = 0;
  // The census of what disturbed its rounds.
  /// A step of a chain of multiplications just before and just after the rounds of its group, in
  /// ns: they differ when the clock did. 0: not probed.
  double spin_ns_before = 0, spin_ns_after = 0;
  std::int64_t involuntary_switches = 0, page_faults = 0;
  double steal_ms = 0;          ///< of all processors, from /proc/stat
  double off_cpu_share = 0;     ///< 1 - CPU time over wall time
  std::int64_t reverified = 0;  ///< rounds whose outputs were judged again
  bool is_ceiling() const { return role == Role::ceiling; }
  bool is_twin() const { return role == Role::null_twin; }
};

/// The null twin of kernel X is called 'X (twin)': no kernel can be.
inline constexpr std::string_view twin_suffix = " (twin)";
/// The kernel whose code a row is about: the name without the twin's suffix.
std::string kernel_of(const TimingRow& row);

/// One named curve for a chart, e.g. B(D).
struct CurveRow {
  std::string chart;   ///< decay
  std::string series;  ///< "reference", or a kernel's name
  std::string note;    ///< parameters in words
  std::vector<double> x, y;
};

/// That one kernel was held to its bound at every position first .. last (docs/certificate.md).
/// Without times and hosts: the same work gives the same bytes.
struct CertificateRow {
  std::string version, kernel, plugin, angle_contract, pairing, dtype;
  std::int64_t rotary_dim = 0;
  double rope_theta = 0;
  std::uint64_t seed = 0;
  std::string cpu_features;  ///< that the kernel needs
  std::string code_file, code_fingerprint, oracle_fingerprint;
  std::int64_t whole_first = 0, whole_last = 0;          ///< the range that was asked for
  std::int64_t first = 0, last = 0;                      ///< the part of it that this row is about
  std::int64_t planned = 0, executed = 0, compared = 0;  ///< positions
  std::int64_t blocks = 0;                               ///< positions times pairs, each compared
  double block_error = 0, block_bound = 0;               ///< in u
  std::int64_t block_position = 0, block_pair = 0, block_column = 0;
  double vector_error = 0, vector_bound = 0;  ///< in u rho
  std::int64_t vector_position = 0, vector_pair = 0;
  std::string enumerated, bounded, assumed;  ///< what was done, in words
};

/// A kernel that there is: what `list --json` prints. A file of results has none.
struct KernelRow {
  std::string kernel, summary, plugin, angle_contract;
  std::string cpu_features;  ///< that it needs
  std::string cannot_run;    ///< why not on this machine; empty: it can
};

/// Last row: the run came to its end.
struct EndRow {
  int exit_code = 0;
  double seconds = 0;
  std::string finished_at;
};

struct Results {
  RunRow run;
  std::vector<VerdictRow> verdicts;
  std::vector<TimingRow> timings;
  std::vector<CurveRow> curves;
  std::vector<CertificateRow> certificates;
  EndRow end;
  bool complete = false;  ///< an end row was found
  std::string text;       ///< the lines of a file it was read from; empty: read from none
};

/// The row as the one line of JSON that a file would hold (no newline): what --json prints.
std::string to_json_line(const RunRow& row);
std::string to_json_line(const VerdictRow& row);
std::string to_json_line(const TimingRow& row);
std::string to_json_line(const CurveRow& row);
std::string to_json_line(const CertificateRow& row);
std::string to_json_line(const KernelRow& row);
std::string to_json_line(const EndRow& row);

/// Appends rows to a file: one line a row, written whole and flushed, so that a kill loses at most
/// the row in flight. Throws std::runtime_error with one clear line when the file cannot be
/// written.
class RecordWriter {
 public:
  explicit RecordWriter(const std::filesystem::path& file);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  /// A row of any kind but KernelRow.
  template <class Row>
  requires(!std::same_as<Row, KernelRow>) void write(const Row& row) {
    write_line(to_json_line(row));
  }

 private:
  void write_line(const std::string& line);
  std::filesystem::path file_;
  int descriptor_ = -1;
};

/// The reverse for a row that another process of ours sent. Throws BadFile.
TimingRow timing_row_from(const std::string& json_line);
VerdictRow verdict_row_from(const std::string& json_line);
CertificateRow certificate_row_from(const std::string& json_line);

/// Reads a results file. A last line without a newline (a kill) is dropped; anything else that is
/// not a row of this schema version throws BadFile with the line number. Never crashes on
/// foreign bytes.
Results read_results(const std::filesystem::path& file);
/// The same from text; `name` stands for the file in messages.
Results results_from(std::string_view text, const std::string& name);

/// The lines the results were read from, or would be: what a page carries along.
std::string text_of(const Results& results);

}  // namespace ropewalk::report
