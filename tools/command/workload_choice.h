// Which workloads the options ask for, wherever they come from: the built-in ones, a TOML file,
// config.json files, shapes on the command line.
#pragma once
#include <vector>

#include "benchmarks/workloads/model_config.h"
#include "benchmarks/workloads/workloads.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

/// What each --config says. Throws BadFile.
std::vector<bench::ModelConfig> read_configs(const Options& options);

/// All there are to choose from: what the options bring, or else the built-in ones. A name that is
/// taken gets a number. Throws BadFile.
std::vector<bench::Workload> all_workloads(const Options& options);

/// Those that --workload names, or else those of the profile. Throws UsageError when there are
/// none.
std::vector<bench::Workload> chosen_workloads(const Options& options);

/// On standard error, unless --quiet: what a model does and its workloads leave out.
void print_what_is_not_timed(const Options& options);

}  // namespace ropewalk::tools
