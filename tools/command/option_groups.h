// Each function adds to a verb options that several verbs share. CLI11 stores the values that the
// user gives in the second argument, which must outlive the parsing.
#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/command/options.h"

namespace ropewalk::tools {

/// An option whose value --help calls `type`.
template <class Value>
CLI::Option* add_value(CLI::App& verb, const char* name, Value& value, const char* type,
                       const std::string& help) {
  return verb.add_option(name, value, help)->type_name(type);
}
/// That of a whole number from `least` to `most`.
template <class Value>
CLI::Option* add_number(CLI::App& verb, const char* name, Value& value, std::int64_t least,
                        std::int64_t most, const std::string& help) {
  return add_value(verb, name, value, "N", help)
      ->check(CLI::Range(least, most, fmt::format("{} to {}", least, most)));
}

/// Makes --help keep two spaces between an option and its meaning. CLI11 alone leaves one if the
/// option fills its column, which nobody can tell apart.
void use_spaced_help(CLI::App& app);
void add_python_option(CLI::App& verb);
void add_tolerate_option(CLI::App& verb, std::uint32_t& tolerated);
/// Adds --kernel, --plugin, --python, --tolerate and --cpu-features.
void add_kernel_options(CLI::App& verb, KernelChoice& choice);
/// Adds the positional TARGET. `more` ends its help.
void add_targets(CLI::App& verb, KernelChoice& choice, const char* more);
void add_no_cuda_option(CLI::App& verb, KernelChoice& choice);
/// Chooses the baselines, and adds --no-baselines.
void add_no_baselines_option(CLI::App& verb, KernelChoice& choice);
void add_cpu_features_option(CLI::App& verb, std::string& cpu_features);
/// A number from one to the other. CLI::Range lets NaN pass.
inline CLI::Validator from_to(double low, double high, const std::string& text) {
  return CLI::Range(low, high, text) &
         CLI::Validator(
             [](std::string& word) {
               return word.find_first_of("nN") == word.npos ? "" : word + " is not a number";
             },
             "");
}

/// Adds --property, --cases and --jobs.
void add_judging_options(CLI::App& verb, JudgingOptions& options);
void add_profile_option(CLI::App& verb, properties::Profile& profile);
/// Adds --profile and --seed.
void add_identity_options(CLI::App& verb, RunIdentity& identity);
/// Adds what a config.json leaves out: --pairing, --theta and others, which need `config`.
void add_answers(CLI::App& verb, bench::ConfigAnswers& answers, CLI::Option* config);
/// Adds --workload, --workload-file, --config with its answers, --dtype and --shape.
void add_workload_options(CLI::App& verb, WorkloadChoice& choice, bool of_configs = true);
void add_known_failures_option(CLI::App& verb, std::string& file);
void add_engine_option(CLI::App& verb, bool& google_benchmark);
/// Adds --operation, --budget, --margin, --rounds, --launches, --threads and --baseline.
void add_timing_options(CLI::App& verb, BenchOptions& options);
/// Adds --exhaustive and the options that need it.
void add_exhaustive_options(CLI::App& verb, VerifyOptions& options);
void add_json_option(CLI::App& verb, bool& json);
void add_quiet_option(CLI::App& verb, bool& quiet, const char* help);
void add_export_option(CLI::App& verb, std::string& file);
void add_out_option(CLI::App& verb, std::string& out, const char* help);

// Options of verbs about tensors and models.
void define(CLI::App& verb, IdentifyOptions& options);
void define(CLI::App& verb, CheckOptions& options);
void define(CLI::App& verb, VectorsOptions& options);
void define(CLI::App& verb, DiffOptions& options);

}  // namespace ropewalk::tools
