#include "tools/command/option_groups.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/random.h"
#include "benchmarks/workloads/model_shape.h"
#include "harness/process/exceptions.h"
#include "harness/process/given_plugin.h"
#include "harness/process/script_host.h"

namespace ropewalk::tools {
using namespace properties;
namespace {

// Reads a seed, which is a number or the word "random". Returns what is wrong with the text; an
// empty answer means that nothing is.
std::string read_seed(const std::string& text, std::uint64_t& seed) {
  if (text == "random") {
    seed = fresh_seed();
    return {};
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size())
    return "a seed is a number from 0 to 2^64 - 1 or the word random, not '" + text + "'";
  return {};
}

// The heading of --help under which the options stand that are added next.
void begin_group(CLI::App& verb, const char* name) {
  verb.option_defaults()->group(name);
}

CLI::Option* add_list(CLI::App& verb, const char* name, std::vector<std::string>& list,
                      const char* type, const std::string& help) {
  CLI::Option* option = verb.add_option(name, list, help)->type_name(type)->expected(1);
  return option->take_all()->allow_extra_args(false);  // what follows is a TARGET
}

// Says what is wrong with a value of --plugin; empty: nothing. A file with a = in its name that is
// not there yet is given as ./FILE.
class PrefixCheck {
 public:
  std::string operator()(const std::string& given) {
    const auto [prefix, file] = harness::given_plugin(given);
    const std::size_t equals = given.find('=');
    std::error_code error;
    if (prefix.empty() && equals < given.find('/') && !std::filesystem::exists(given, error))
      return "'" + given.substr(0, equals) +
             "=' is not a known prefix: only base= and head= are (./" + given +
             " is a file of this name)";
    if (!prefix.empty() && file.empty()) return "'" + given + "' names no file";
    if (!prefix.empty() && !seen_.insert(prefix).second)
      return "two files have the prefix '" + prefix + "': one can have it";
    return {};
  }

 private:
  std::set<std::string> seen_;
};

}  // namespace

void use_spaced_help(CLI::App& app) {
  class Spaced : public CLI::Formatter {
    std::string make_option_opts(const CLI::Option* option) const override {
      return CLI::Formatter::make_option_opts(option) + ' ';
    }
  };
  app.formatter(std::make_shared<Spaced>());
}

void add_cpu_features_option(CLI::App& verb, std::string& cpu_features) {
  begin_group(verb, "Rarely needed");
  add_value(verb, "--cpu-features", cpu_features, "LIST",
            "act like an older machine: only these features count as present, e.g. avx2,fma");
}

// Workers inherit the environment, so no other code passes the choice on.
void add_python_option(CLI::App& verb) {
  verb.add_option_function<std::string>(
          "--python",
          [](const std::string& file) {
            setenv(harness::script_interpreter_variable, file.c_str(), 1);
          },
          "the Python that runs .py files (default: ROPEWALK_PYTHON of the environment, else "
          "python3)")
      ->type_name("FILE");
}

void add_tolerate_option(CLI::App& verb, std::uint32_t& tolerated) {
  verb.add_option_function<std::string>(
          "--tolerate",
          [&tolerated](const std::string& words) {
            const auto known = harness::tolerated_by(words);
            if (!known)
              throw CLI::ValidationError(
                  "--tolerate", "'" + words +
                                    "' is not one of allocates, threads, prints: only these "
                                    "can be tolerated");
            tolerated |= *known;
          },
          "what kernels of --plugin may do without declaring it: allocates, threads or prints. "
          "Each row says so")
      ->type_name("LIST");
}

void add_kernel_options(CLI::App& verb, KernelChoice& choice) {
  begin_group(verb, "Kernels");
  add_list(
      verb, "--kernel", choice.kernels, "GLOB",
      "only kernels with a name that matches this glob, '!(plain|avx*)': all others (repeatable)");
  add_list(
      verb, "--plugin", choice.plugins, "FILE",
      "also load the kernels of this shared library (.so) or Python file (.py) (repeatable). "
      "base=FILE and head=FILE put base: and head: before the names of its kernels: two builds "
      "of one plugin in one run, for compare")
      ->check(PrefixCheck(), "");
  add_python_option(verb);
  add_tolerate_option(verb, choice.tolerated);
}

void add_targets(CLI::App& verb, KernelChoice& choice, const char* more) {
  add_value(verb, "target", choice.targets, "TARGET",
            std::string("what is judged: a file (./k.so, my_rope.py), a kernel in it "
                        "(my_rope.py::my_rope) or a kernel of the tree (avx512), in the "
                        "profile smoke unless --profile is given") +
                more)
      ->check(PrefixCheck(), "");
}

void add_no_cuda_option(CLI::App& verb, KernelChoice& choice) {
  begin_group(verb, "Kernels");
  verb.add_flag(
      "--no-cuda", choice.no_cuda,
      "leave out the plugin ropewalk_cuda.so, which is loaded without --plugin if it lies "
      "beside the command");
}

void add_no_baselines_option(CLI::App& verb, KernelChoice& choice) {
  choice.baselines = true;
  verb.add_flag_callback(
      "--no-baselines", [&choice] { choice.baselines = false; },
      "leave out the plugins ropewalk_baselines_gcc.so and ropewalk_baselines_clang.so, loops that "
      "users' compilers make, which are loaded if they lie beside the command");
}

void add_judging_options(CLI::App& verb, JudgingOptions& options) {
  begin_group(verb, "Judging");
  add_list(verb, "--property", options.properties, "GLOB",
           "only properties with a name that matches this glob (repeatable)");
  add_number(verb, "--cases", options.cases, 1, 10'000'000,
             "generated cases for each property (default: the profile's number)");
  add_number(verb, "--jobs", options.jobs, 1, 64,
             "how many judges work in parallel (default: one a processor, at most 8)");
}

void add_profile_option(CLI::App& verb, Profile& profile) {
  verb.add_option_function<std::string>(
          "--profile",
          [&profile](const std::string& name) {
            for (const Profile p : {Profile::smoke, Profile::standard, Profile::full})
              if (profile_name(p) == name) {
                profile = p;
                return;
              }
            throw CLI::ValidationError("--profile", "unknown profile '" + name + "'");
          },
          "smoke (a minute for all kernels; the default for a TARGET), standard (else the default) "
          "or full")
      ->type_name("smoke|standard|full");
}

void add_identity_options(CLI::App& verb, RunIdentity& identity) {
  begin_group(verb, "Judging");
  add_profile_option(verb, identity.profile);
  verb.add_option_function<std::string>(
          "--seed",
          [&identity](const std::string& text) {
            if (const std::string wrong = read_seed(text, identity.seed); !wrong.empty())
              throw CLI::ValidationError("--seed", wrong);
          },
          fmt::format("seed of all data and cases; it is printed with the results (default {})",
                      default_seed))
      ->type_name("N|random");
}

void add_answers(CLI::App& verb, bench::ConfigAnswers& answers, CLI::Option* config) {
  const std::string when = config->get_positional() ? "" : "for --config: ";
  add_value(verb, "--pairing", answers.pairing, "half_split|interleaved",
            when + "which pairs the model rotates, if its model_type is not known")
      ->check(CLI::IsMember({"half_split", "interleaved"}))
      ->needs(config);
  add_value(verb, "--theta", answers.theta, "N", when + "the base of the frequencies")
      ->check(from_to(1, 1e300, "1 to 1e300"))
      ->needs(config);
  const std::pair<const char*, std::optional<std::int64_t>&> sizes[] = {
      {"--heads", answers.heads}, {"--kv-heads", answers.kv_heads}};
  for (const auto& [name, value] : sizes)
    add_number(verb, name, value, 1, 1 << 20,
               fmt::format("{}how many heads {} has", when, &value == &answers.heads ? "Q" : "K"))
        ->needs(config);
  add_number(verb, "--context", answers.context, 1, std::int64_t{1} << 31,
             when +
                 "the tokens of a sequence, on which the frequencies of some models "
                 "depend (default: within the original context)")
      ->needs(config);
  add_value(verb, "--layer", answers.layer, "NAME",
            when +
                "which kind of layer to time, in a model whose layers rotate differently "
                "(default: the first kind that ropewalk config shows)")
      ->needs(config);
}

void add_workload_options(CLI::App& verb, WorkloadChoice& choice, bool of_configs) {
  const bool is_bench = verb.get_name() == "bench";  // which has all words of a shape
  begin_group(verb, "Shapes and models");
  add_list(verb, "--workload", choice.workloads, "GLOB",
           "only workloads with a name that matches this glob (repeatable)");
  add_value(verb, "--workload-file", choice.workload_file, "FILE.toml",
            "read workloads from this TOML file");
  if (of_configs)
    add_answers(verb, choice.answers,
                add_list(verb, "--config", choice.configs, "config.json",
                         "a model's config.json (Hugging Face): its shape in all phases "
                         "(repeatable); ropewalk config shows what was read"));
  add_value(verb, "--dtype", choice.dtype, "f32|f64|f16|bf16",
            "the data type of every workload (default: its own; of a config.json its dtype or "
            "torch_dtype)")
      ->check(CLI::IsMember(
          std::vector<std::string>(bench::timed_dtypes.begin(), bench::timed_dtypes.end())));
  add_list(verb, "--shape", choice.shapes, "WORDS",
           std::string("a shape, e.g. q=32,k=8,d=128,tokens=512 (repeatable): ") +
               (is_bench ? bench::shape_help : "ropewalk bench --help has all words"));
}

void add_known_failures_option(CLI::App& verb, std::string& file) {
  begin_group(verb, "Judging");
  add_value(verb, "--known-failures", file, "FILE",
            "a file of lines KERNEL PROPERTY YYYY-MM-DD reason: shown, but not counted until "
            "that day");
}

void add_engine_option(CLI::App& verb, bool& google_benchmark) {
  begin_group(verb, "Rarely needed");
  verb.add_option_function<std::string>(
          "--engine",
          [&google_benchmark](const std::string& word) { google_benchmark = word == "gbench"; },
          "paired (rounds in a balanced order, the default) or gbench (Google Benchmark, which "
          "prints its own table and makes no claims). Flags of Google Benchmark come after -- and "
          "choose gbench")
      ->type_name("paired|gbench")
      ->check(CLI::IsMember({"paired", "gbench"}));
}

void add_timing_options(CLI::App& verb, BenchOptions& options) {
  begin_group(verb, "Timing");
  add_value(verb, "--operation", options.operation, "forward|transpose|both",
            "what is timed: forward (the default), transpose (the backward pass, on boards of "
            "its own) or both")
      ->check(CLI::IsMember({"forward", "transpose", "both"}));
  CLI::Option* budget =
      add_value(verb, "--budget", options.budget_s, "SECONDS",
                "the time of the bench from start to end, with verification and ceilings "
                "(default: 30 for --shape, 20 in smoke, 45 in run with smoke, 300 in standard, "
                "1800 in full, but three "
                "launches at least). It ends sooner once all claims are settled. In run it "
                "starts after verify")
          ->check(from_to(1, 1e6, "1 to 1000000"));
  verb.add_option_function<double>(
          "--margin", [&options](double percent) { options.margin = percent / 100; },
          "FASTER and SLOWER mean by more than this, SAME by no more (default 1)")
      ->type_name("PERCENT")
      ->check(from_to(0.01, 50, "0.01 to 50"));
  add_number(verb, "--rounds", options.rounds, 6, 800,
             "a fixed effort in place of a budget: the least number of rounds in each launch "
             "(default: 24; 12 in smoke, 40 in full)")
      ->excludes(budget);
  add_number(verb, "--launches", options.launches, 1, 100,
             "a fixed number of fresh processes in place of a budget (default: 3; 5 in full); "
             "fewer than 3 claim nothing")
      ->excludes(budget);
  add_number(verb, "--threads", options.threads, 1, 1024,
             "also time N threads at once, each with its own processor and data");
  add_value(verb, "--baseline", options.baseline, "KERNEL",
            "the kernel that ratios refer to (default: plain, else a board's first kernel)");
}

void add_exhaustive_options(CLI::App& verb, VerifyOptions& o) {
  begin_group(verb, "Every position");
  CLI::Option* exhaustive = verb.add_flag(
      "--exhaustive", o.exhaustive, "judge every position of a range instead of the properties");
  add_value(verb, "--positions", o.positions, "A:B", "the range (default: 0:2147483647)")
      ->needs(exhaustive);
  verb.add_option_function<std::string>(
          "--shard",
          [&o](const std::string& text) {
            if (const std::string wrong = read_shard(text, o.shard); !wrong.empty())
              throw CLI::ValidationError("--shard " + text, wrong);
          },
          "part i of n of the range; merge joins them. auto/n takes i from a Slurm array, MPI or a "
          "Kubernetes job, and writes to DIR/shardi")
      ->type_name("i/n")
      ->needs(exhaustive);
  add_value(verb, "--rotary-dim", o.rotary_dim, "N", "rotated elements of a head (default: 128)")
      ->needs(exhaustive);
  add_value(verb, "--rope-theta", o.rope_theta, "X", "base of the frequencies (default: 10000)")
      ->needs(exhaustive);
}

void add_json_option(CLI::App& verb, bool& json) {
  begin_group(verb, "Output");
  verb.add_flag("--json", json, "print rows as JSON lines on standard output");
}

void add_quiet_option(CLI::App& verb, bool& quiet, const char* help) {
  begin_group(verb, "Output");
  verb.add_flag("--quiet", quiet, help);
}

void add_export_option(CLI::App& verb, std::string& file) {
  add_value(verb, "--export", file, "FILE.md",
            "also write which kernel to use to this file, as a table for a pull request");
}

void add_out_option(CLI::App& verb, std::string& out, const char* help) {
  add_value(verb, "--out", out, "DIR", help);
}

void define(CLI::App& verb, IdentifyOptions& o) {
  verb.add_option("file", o.file, "x and y, or q, k, q_out, k_out, in safetensors, .npz or .pt")
      ->required();
  verb.add_option("--config", o.config, "the model's config.json: what the rotation should be");
  add_python_option(verb);
  verb.add_flag("--json", o.json, "print what was found as one JSON object");
}

void define(CLI::App& verb, CheckOptions& o) {
  add_value(verb, "target", o.target, "TARGET",
            "a folder with a config.json, of which transformers builds the model without weights, "
            "or model.py::load, a function that returns one (docs/check.md)")
      ->required();
  add_value(verb, "--config", o.config, "FILE",
            "judge by this config.json (default: the folder's, or the model's own)");
  add_value(verb, "--pairing", o.pairing, "half_split|interleaved",
            "which pairs the model rotates, if its model_type is not known")
      ->check(CLI::IsMember({"half_split", "interleaved"}));
  add_python_option(verb);
  verb.add_flag("--strict", o.strict,
                "what fails at an edge, as after a cast, or loses precision counts too");
  verb.add_flag("--json", o.json, "print the rows as one JSON object");
}

void define(CLI::App& verb, VectorsOptions& o) {
  verb.add_option("-o,--out", o.file, "the file to write (docs/vectors.md)")->required();
  verb.add_option("--dtype", o.dtype)->check(CLI::IsMember({"f32", "f16", "bf16"}));
  verb.add_option("--pairing", o.pairing)->check(CLI::IsMember({"half_split", "interleaved"}));
  verb.add_option("--config", o.config, "a model's config.json: questions of its shape");
  verb.add_option("--shape", o.shape, "questions of this shape, as verify takes it");
  add_python_option(verb);
}

void define(CLI::App& verb, DiffOptions& o) {
  add_value(verb, "targets", o.targets, "A B",
            "two of: a kernel of the tree, ./k.so::NAME, f.py::NAME, LIBRARY::NAME, a file "
            "of tensors (docs/diff.md)")
      ->required()
      ->expected(2);
  add_python_option(verb);
  add_tolerate_option(verb, o.tolerated);
  add_workload_options(verb, o);
  add_value(verb, "--max-ulp", o.max_ulp, "N",
            "exit with 0 if no element is further apart (default 0)")
      ->check([](const std::string& text) {
        char* end = nullptr;
        return std::strtod(text.c_str(), &end) >= 0 && *end == 0 ? "" : "is not a number from 0 on";
      });
  add_value(verb, "--svg", o.svg, "FILE.svg", "draw how the distance grows with the position");
  add_json_option(verb, o.json);
  add_quiet_option(verb, o.quiet, "print a line for each pairing and data type");
  add_cpu_features_option(verb, o.cpu_features);
}

}  // namespace ropewalk::tools
