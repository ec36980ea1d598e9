// The command line as plain data, with one struct of options for each verb. Only options.cpp and
// option_groups.{h,cpp} use CLI11.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "benchmarks/configs/model_config.h"
#include "properties/property.h"
#include "properties/search/judges.h"
#include "reports/record/record_words.h"

namespace ropewalk::tools {

inline constexpr std::uint64_t default_seed = 20210420;  ///< the date of the RoFormer preprint

/// The part of the command line that a results file keeps.
struct RunIdentity {
  std::string command_line;  ///< as typed, with quotes where a shell needs them
  properties::Profile profile = properties::Profile::standard;
  std::uint64_t seed = default_seed;
  double margin = 0.01;  ///< a share: FASTER and SLOWER mean by more
};

/// Which part of its range a process of verify --exhaustive judges: i of n. The default is the
/// whole range.
struct Shard {
  std::int64_t i = 1, n = 1;
  std::string taken_from;  ///< the variable that gave i, "PMI_RANK=2"; empty: the user gave it
};

/// Reads "i/n", 1 <= i <= n <= 65536, or "auto/n", where i comes from the one of these variables
/// that is set: SLURM_ARRAY_TASK_ID (counted from SLURM_ARRAY_TASK_MIN in steps of
/// SLURM_ARRAY_TASK_STEP), OMPI_COMM_WORLD_RANK, PMI_RANK or JOB_COMPLETION_INDEX (these three
/// begin at 0). Returns what is wrong with the text; an empty answer means that nothing is.
std::string read_shard(const std::string& text, Shard& shard);

struct KernelChoice {
  std::vector<std::string> kernels;   ///< globs of kernel names
  std::vector<std::string> plugins;   ///< paths of shared libraries
  std::vector<std::string> targets;   ///< FILE, FILE::GLOB or GLOB, until take_targets()
  std::vector<std::string> files;     ///< those of the targets
  std::vector<std::string> provided;  ///< those of verify that offer providers of angles
  std::string cpu_features = "all";
  bool no_cuda = false;         ///< without the CUDA plugin that lies beside the command
  bool baselines = false;       ///< with the baselines that lie beside it
  std::uint32_t tolerated = 0;  ///< exceptions (rope_kernel.h) that plugins need not declare
};

struct WorkloadChoice {
  std::vector<std::string> workloads;  ///< globs of workload names
  // The workloads are those of the next three together, or the built-in ones if all are empty.
  std::string workload_file;          ///< the path of a TOML file
  std::vector<std::string> configs;   ///< paths of config.json files
  std::vector<std::string> shapes;    ///< e.g. "q=32,k=8,d=128,tokens=512"
  bench::ConfigAnswers answers;       ///< what the configs leave out
  std::string dtype;                  ///< of all workloads; if empty, each has its own
  std::string operation = "forward";  ///< forward, transpose or both
  bool chooses() const {              ///< whether the user gave any of the first four
    return !workloads.empty() || !workload_file.empty() || !configs.empty() || !shapes.empty();
  }
};

struct JudgingOptions : RunIdentity, KernelChoice {
  std::vector<std::string> properties;    ///< globs of property names
  std::int64_t cases = 0;                 ///< for each property; 0 means the profile's number
  int jobs = properties::usual_judges();  ///< judges that work at the same time
};

struct ListOptions : KernelChoice, WorkloadChoice {
  bool libraries = false, words = false, schema = false, features = false, json = false,
       quiet = false;
};

struct ConfigOptions : WorkloadChoice {  ///< its `configs` are what the verb shows
  bool pairs = false;                    ///< of each config, all pairs too
  std::string inv_freq;  ///< the path of a file with numbers to compare with; may be empty
  bool json = false, quiet = false;
};

struct VerifyOptions : JudgingOptions, WorkloadChoice {
  std::string known_failures;        ///< the path of a file; may be empty
  std::string ledger, write_ledger;  ///< paths of files; at most one is given
  std::string out;                   ///< a folder; if empty, no results file is written
  bool json = false, quiet = false;
  bool all = false;          ///< prints every failure as a block
  bool verbose = false;      ///< prints a line for each data type, and what was covered
  std::string junit;         ///< a file for the verdicts; empty: none
  bool strict = false;       ///< "edge" and "precision" count too
  bool fail_fast = false;    ///< ends at the first failure
  bool one_case = false;     ///< of each property
  bool sanitizers = false;   ///< those of compute-sanitizer, too
  bool part_of_run = false;  ///< set by the verb run: the workloads hold nothing to their shape
  bool exhaustive = false;   ///< only an exhaustive run uses the fields below
  std::string positions = "0:2147483647";  ///< the range, first:last
  Shard shard;
  std::int64_t rotary_dim = 128;
  double rope_theta = 10000;
};

struct MergeOptions {
  std::vector<std::string> files;  ///< paths of the shards' results
  std::string missing;             ///< or the folder in which each shard has a folder
  std::string out;
  bool json = false, quiet = false;
};

struct ReplayOptions {
  std::string line;  ///< the words of the case, as a failure printed them
  std::string cpu_features = "all";
  std::uint32_t tolerated = 0;  ///< as in KernelChoice
  bool json = false;
};

struct MutantsOptions : JudgingOptions {
  bool first_kill = false;       ///< no more cases for a kernel after its first failure
  std::int64_t array_cases = 0;  ///< at most so many of the covering array; 0: all
  std::string markdown;          ///< the path of a file to write; may be empty
  int strength = 0;              ///< only mutants that need so many conditions to meet; 0: all
  bool json = false, quiet = false;
};

struct BenchOptions : RunIdentity, KernelChoice, WorkloadChoice {
  std::string known_failures, out;  ///< as in VerifyOptions
  std::string export_file;          ///< the path of a Markdown file to write; may be empty
  std::string baseline;             ///< if empty: the kernel plain, or else a board's first kernel
  bool google_benchmark = false;    ///< the engine: its table, and no claims
  std::int64_t rounds = 0, launches = 0;  ///< above 0: the effort is fixed, and no budget counts
  double budget_s = 0;                    ///< wall clock of the bench; 0 means the usual one
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  int threads = 1;                          ///< each kernel is timed with 1 and with this many
  std::vector<std::string> benchmark_args;  ///< Google Benchmark's flags, given after --
  bool json = false, quiet = false;
  bool part_of_run = false;  ///< set by the verb run, which has a report
  bool verbose = false;      ///< set by the verb run: prints the tables too
};

struct DoctorOptions : WorkloadChoice {
  properties::Profile profile = properties::Profile::standard;
  bool json = false, quiet = false;
};

struct EncodingsOptions {
  std::vector<std::string> names;  ///< if empty, all, and what surrounds them on the page
  std::string curves;              ///< a folder: the files of the curves are all that is made
};

struct ReportOptions {
  std::string results_file;
  std::string out;          ///< a folder; if empty, the folder of the results
  std::string export_file;  ///< as in BenchOptions
};

struct CompareOptions {
  std::vector<std::string> files;  ///< two runs, the older first; or one run of base and head
  double max_regression = 5;       ///< percent
  std::string unresolved;          ///< pass or fail; empty: pass for one run, fail for two
  std::string markdown;            ///< the path of a file to write; may be empty
};

struct RunOptions {
  VerifyOptions verify;
  BenchOptions bench;
  std::string out = "ropewalk-out";
};

struct CheckOptions {
  std::string target;   ///< a folder with a config.json, or FILE.py::FUNCTION
  std::string config;   ///< the path of another config.json to judge by; may be empty
  std::string pairing;  ///< as in bench::ConfigAnswers
  bool strict = false;  ///< failures of every severity count
  bool json = false;
};

struct IdentifyOptions {
  std::string file;    ///< tensors before and after a rotation
  std::string config;  ///< the path of the model's config.json; may be empty
  bool json = false;
};

struct DiffOptions : JudgingOptions, WorkloadChoice {
  double max_ulp = 0;
  std::string svg;  ///< the path of a picture to write; may be empty
  bool json = false, quiet = false;
};

struct VectorsOptions {
  std::string file;                                   ///< to be written
  std::string dtype = "f32", pairing = "half_split";  ///< of the questions
  std::string config, shape;                          ///< of a model; may be empty
};

struct IncludeDirOptions {};

using VerbOptions =
    std::variant<VerifyOptions, CheckOptions, BenchOptions, RunOptions, ReportOptions,
                 CompareOptions, ConfigOptions, IdentifyOptions, DiffOptions, VectorsOptions,
                 ListOptions, ReplayOptions, DoctorOptions, IncludeDirOptions, MutantsOptions,
                 MergeOptions, EncodingsOptions>;

/// The text as a word of a line for the shell, in quotes where it needs them.
std::string shell_word(const std::string& text);

/// Returns smoke, standard or full.
std::string profile_name(properties::Profile profile);

/// The result of parse_command_line().
struct Parsed {
  bool run = false;  ///< false if the verb must not run: exit with `exit_code`
  int exit_code = 0;
  std::string error;  ///< what is wrong; empty if the user asked for help
  std::string verb;
  VerbOptions options;
};
/// Parses the command line, and prints the help if the user asked for it.
Parsed parse_command_line(int argc, char** argv);

}  // namespace ropewalk::tools
