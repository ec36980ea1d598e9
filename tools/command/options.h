// What the user asked for: the command line as plain data. Only options.cpp knows CLI11.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "properties/property.h"

namespace ropewalk::tools {

struct Options {
  std::string verb;
  std::string command_line;                                          ///< as typed, for the record
  std::vector<std::string> kernels, properties, plugins, workloads;  ///< globs, files, globs
  std::string workload_file;                 ///< empty: the built-in workloads, unless there are
  std::vector<std::string> configs, shapes;  ///< config.json files, and words of shapes
  std::string pairing;                       ///< of the models of configs; empty: what they say
  std::string known_failures;                ///< a file, or empty
  bool first_kill = false;                   ///< mutants: one failure of a kernel is enough
  std::string markdown;                      ///< mutants, compare: a file to write to
  std::string ledger, write_ledger;  ///< verify: to compare with, to write; at most one of them
  properties::Profile profile = properties::Profile::standard;
  std::uint64_t seed = 0;
  std::int64_t cases = 0;  ///< a property; 0: what the profile says
  int jobs = 0;            ///< processes that judge
  std::string cpu_features = "all";
  std::string out;  ///< folder for results; empty: the verb's own default
  bool json = false, quiet = false;
  bool float_modes = false;            ///< list
  std::string replay_text;             ///< replay
  std::string results_file;            ///< report
  std::string check, history, splice;  ///< report: a page, a file of runs, a document
  double max_regression = 5;           ///< compare, in percent
  std::vector<std::string> files;      ///< merge: the results of the shards; compare: two runs
  bool exhaustive = false;             ///< verify, with those below
  bool resume = false;                 ///< verify --exhaustive, bench and run
  std::string positions = "0:2147483647", shard;
  std::int64_t rotary_dim = 128;
  double rope_theta = 10000;
  std::vector<std::string> benchmark_args;  ///< bench, after --
  std::string engine, baseline;             ///< bench; empty: paired, and plain
  std::int64_t rounds = 0, launches = 0;    ///< bench; 0: what the profile says
  int threads = 1;                          ///< bench; above 1: with one and with so many
};

/// "smoke", "standard", "full"
std::string profile_name(properties::Profile profile);

/// Parses the command line. When there is nothing to run, prints the help that was asked for or
/// says what is wrong in `error`, and sets `exit_code`.
struct Parsed {
  bool run = false;
  int exit_code = 0;
  std::string error;
  Options options;
};
Parsed parse_command_line(int argc, char** argv);

}  // namespace ropewalk::tools
