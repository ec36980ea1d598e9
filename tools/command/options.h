// What the user asked for: the command line as plain data, one struct a verb. Only this room's
// option files know CLI11.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "properties/property.h"
#include "properties/search/judges.h"
#include "reports/record/record_words.h"

namespace ropewalk::tools {

inline constexpr std::uint64_t default_seed = 20210420;  ///< the day RoFormer appeared

/// What a results file keeps of the command.
struct RunIdentity {
  std::string command_line;  ///< as typed
  properties::Profile profile = properties::Profile::standard;
  std::uint64_t seed = default_seed;
};

struct KernelChoice {
  std::vector<std::string> kernels, plugins;  ///< globs; paths of shared libraries
  std::string cpu_features = "all";
};

struct WorkloadChoice {
  std::vector<std::string> workloads;        ///< globs
  std::string workload_file;                 ///< empty: the built-in workloads, or those below
  std::vector<std::string> configs, shapes;  ///< config.json files; the words of shapes
  std::string pairing;                       ///< for configs; empty: as the files say
};

struct JudgingOptions : RunIdentity, KernelChoice {
  std::vector<std::string> properties;  ///< globs
  std::int64_t cases = 0;               ///< for each property; 0: the profile's number
  int jobs = properties::usual_judges();
};

struct ListOptions : KernelChoice, WorkloadChoice {
  bool float_modes = false, json = false, quiet = false;
};

struct VerifyOptions : JudgingOptions {
  std::string known_failures;        ///< a file; may be empty
  std::string ledger, write_ledger;  ///< files; at most one is given
  std::string out;                   ///< a folder; empty: no file is written
  bool json = false, quiet = false;
  bool exhaustive = false;  ///< uses the fields below
  bool resume = false;
  std::string positions = "0:2147483647", shard;
  std::int64_t rotary_dim = 128;
  double rope_theta = 10000;
};

struct MergeOptions {
  std::vector<std::string> files;  ///< the results of the shards
  std::string out;
  bool json = false, quiet = false;
};

struct ReplayOptions {
  std::string line;
  std::string cpu_features = "all";
  bool json = false;
};

struct MutantsOptions : JudgingOptions {
  bool first_kill = false;  ///< one failure of a kernel is enough
  std::string markdown;     ///< a file to write; may be empty
  bool json = false, quiet = false;
};

struct BenchOptions : RunIdentity, KernelChoice, WorkloadChoice {
  std::string known_failures, out, baseline;  ///< an empty baseline is plain, else the first kernel
  report::Engine engine = report::Engine::paired;
  std::int64_t rounds = 0, launches = 0;    ///< 0: the profile's number
  int threads = 1;                          ///< above 1: each kernel is timed with 1 and with N
  std::vector<std::string> benchmark_args;  ///< Google Benchmark's flags, after --
  bool json = false, quiet = false, resume = false;
  bool part_of_run = false;  ///< `run` prints the tables itself
};

struct DoctorOptions : WorkloadChoice {
  properties::Profile profile = properties::Profile::standard;
  bool json = false, quiet = false;
};

struct ReportOptions {
  std::string results_file, out;       ///< an empty out: the folder of the results
  std::string check, history, splice;  ///< a page, a file of runs, a document
};

struct CompareOptions {
  std::vector<std::string> files;  ///< two runs, the older first
  double max_regression = 5;       ///< percent
  std::string markdown;            ///< a file to write; may be empty
};

struct RunOptions {
  VerifyOptions verify;
  BenchOptions bench;
  std::string out = "ropewalk-out";
};

using VerbOptions =
    std::variant<ListOptions, VerifyOptions, MergeOptions, ReplayOptions, MutantsOptions,
                 BenchOptions, DoctorOptions, ReportOptions, CompareOptions, RunOptions>;

/// "smoke", "standard", "full"
std::string profile_name(properties::Profile profile);

/// Parses the command line. If there is nothing to run, it prints the help that was asked for, or
/// says what is wrong in `error`, and sets `exit_code`.
struct Parsed {
  bool run = false;
  int exit_code = 0;
  std::string error;
  std::string verb;
  VerbOptions options;
};
Parsed parse_command_line(int argc, char** argv);

}  // namespace ropewalk::tools
