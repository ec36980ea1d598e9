// Chooses the workloads for the options. Sources are the built-in workloads, a TOML file,
// config.json files, and shapes on the command line.
#pragma once
#include <vector>

#include "benchmarks/configs/model_config.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/judge/asked_shapes.h"
#include "properties/search/verify.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

/// Reads each --config. Throws BadFile.
std::vector<bench::ModelConfig> read_configs(const WorkloadChoice& choice);

/// All workloads to choose from: those that the options give, or else the built-in ones. A name
/// that is taken already gets a number. Throws BadFile.
std::vector<bench::Workload> all_workloads(const WorkloadChoice& choice);

/// The workloads that --workload names, or else those of the profile. Throws UsageError if there
/// are none.
std::vector<bench::Workload> chosen_workloads(const WorkloadChoice& choice,
                                              properties::Profile profile);

/// Each shape of heads once, with the largest call of its workloads that has at most 512 tokens.
std::vector<harness::ModelShape> model_shapes(const std::vector<bench::Workload>& workloads);

/// Asks a kernel that refuses every basic case about these shapes too, before the built-in ones.
void ask_shapes(const std::vector<bench::Workload>& workloads, properties::VerifyPlan& plan);

/// Holds the plan to the one shape of the workloads that the options choose, and to the pairing and
/// data type that they state. Throws UsageError if there is more than one shape.
void hold_to_shape(const WorkloadChoice& choice, properties::VerifyPlan& plan);

/// Prints on standard error what a model does and its workloads leave out. Prints nothing with
/// --quiet.
void print_what_is_not_timed(const WorkloadChoice& choice, bool quiet);

}  // namespace ropewalk::tools
