#include "tools/command/options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "benchmarks/engine/google_benchmark.h"
#include "properties/search/verdict_rows.h"
#include "tools/command/option_groups.h"
#include "tools/command/targets.h"

namespace ropewalk::tools {
using namespace properties;
namespace {

constexpr std::int64_t most_shards = 65536;
constexpr const char* array_task = "SLURM_ARRAY_TASK_ID";
constexpr const char* engines[] = {array_task, "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                   "JOB_COMPLETION_INDEX"};

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : number(text);
}

// An array may begin anywhere and leave numbers out.
std::string read_array_task(std::int64_t& i) {
  const auto task = variable(array_task), first = variable("SLURM_ARRAY_TASK_MIN"),
             step = variable("SLURM_ARRAY_TASK_STEP");
  if (!task || !first || !step || *step < 1 || *task < *first || (*task - *first) % *step != 0)
    return "SLURM_ARRAY_TASK_ID, _MIN and _STEP together name no task of an array";
  i = (*task - *first) / *step + 1;
  return {};
}

std::string read_environment(Shard& shard) {
  const char* found = nullptr;
  for (const char* name : engines) {
    if (std::getenv(name) == nullptr) continue;
    if (found != nullptr)
      return fmt::format("{} and {} are both set, so give i as a number", found, name);
    found = name;
  }
  if (found == nullptr)
    return fmt::format("none of {} is set, so give i as a number", fmt::join(engines, ", "));
  shard.taken_from = fmt::format("{}={}", found, std::getenv(found));
  if (found == array_task) return read_array_task(shard.i);
  const auto rank = variable(found);
  if (!rank || *rank < 0 || *rank >= most_shards) return shard.taken_from + " is not a rank";
  shard.i = *rank + 1;
  return {};
}

// The verbs as --help shows them, in the order of VerbOptions (options.h).

struct VerbWords {
  const char* name;
  const char* group;
  const char* summary;
  const char* examples;  ///< lines, each indented by two spaces
};

constexpr const char *every_day = "Every day", *helpers = "Helpers", *of_suite = "The suite itself";

constexpr VerbWords verb_words[] = {
    {"verify", every_day, "judge code: are these kernels, or the angles of this library, right?",
     "  ropewalk verify ./my_kernel.so\n  ropewalk verify my_rope.py::my_rope --fail-fast\n"
     "  ropewalk verify 'avx*' --profile standard\n  ropewalk verify\n"
     "  ropewalk verify ./my_kernel.so --property norm --property decay\n"
     "  ropewalk verify ./my_kernel.so --shape q=32,k=8,d=128\n"
     "  ropewalk verify --exhaustive --kernel phase --out certificate\n"
     "  ropewalk verify --exhaustive --kernel phase --positions 0:65535 --shard 1/4 --out part1\n"
     "  mpirun -n 4 ropewalk verify --exhaustive --kernel phase --shard auto/4 --out parts"},
    {"check", every_day,
     "judge a model, loaded or built of a folder: does it turn as its config says?",
     "  ropewalk check Meta-Llama-3-8B\n  ropewalk check my_model.py::load --strict\n"
     "  ropewalk check my_model.py::load --config Meta-Llama-3-8B/config.json"},
    {"bench", every_day, "verify kernels and time those that pass, in paired rounds",
     "  ropewalk bench ./my_kernel.so\n  ropewalk bench --profile smoke\n  ropewalk bench "
     "--workload 'llama*' --baseline avx2\n"
     "  ropewalk bench --config Meta-Llama-3-8B/config.json --workload '*/decode-*'\n"
     "  ropewalk bench --shape q=32,k=8,d=128,rd=64,theta=500000\n"
     "  ropewalk bench --shape q=16,d=256,tokens=512,pairing=interleaved,in_place=no\n"
     "  ropewalk bench --launches 5 --rounds 40 --out night\n"
     "  ropewalk bench -- --benchmark_filter=decode --benchmark_repetitions=20"},
    {"run", every_day, "verify, bench and report in one go",
     "  ropewalk run\n  ropewalk run --profile smoke --out build/report\n"
     "  ropewalk run ./my_kernel.so"},
    {"report", every_day,
     "make report.html, report.md, results.csv and junit.xml from a results file",
     "  ropewalk report ropewalk-out/results.jsonl\n"
     "  ropewalk report results.jsonl --out somewhere --export answers.md"},
    {"compare", every_day,
     "two builds in one run, or two runs on one machine class: what became slower or broken",
     "  ropewalk bench --plugin base=before.so --plugin head=after.so --out out\n"
     "  ropewalk compare out/results.jsonl\n"
     "  ropewalk compare before/results.jsonl after/results.jsonl\n"
     "  ropewalk compare before.jsonl after.jsonl --max-regression 10 --markdown comment.md"},
    {"config", helpers,
     "read a config.json: the shape and frequencies that it describes, and how two differ",
     "  ropewalk config Meta-Llama-3-8B/config.json --pairs\n"
     "  ropewalk config old/config.json new/config.json\n"
     "  ropewalk config config.json --inv-freq inv_freq.txt"},
    {"identify", helpers, "judge tensors, from any framework: which rotation turned x into y?",
     "  ropewalk identify dump.safetensors\n"
     "  ropewalk identify dump.safetensors --config config.json"},
    {"diff", helpers, "compare two kernels bit for bit, and show where they first differ",
     "  ropewalk diff plain avx512\n  ropewalk diff ./old.so::mine ./new.so::mine --max-ulp 1\n"
     "  ropewalk diff trainer.py::rope server.py::rope --config config.json --svg apart.svg\n"
     "  ropewalk diff trainer.safetensors server.safetensors"},
    {"vectors", helpers,
     "write test inputs to run on other hardware; verify then checks the outputs",
     "  ropewalk vectors -o questions.safetensors\n"
     "  ropewalk verify answers.safetensors"},
    {"list", helpers, "kernels, properties and workloads, and what each kernel offers",
     "  ropewalk list\n  ropewalk list --plugin ./my_kernel.so\n  ropewalk list --cpu-features ''"},
    {"replay", helpers, "run one case again, from the line that a failure printed",
     "  ropewalk replay 'kernel=plain property=agreement positions=70001 q.heads=1'"},
    {"doctor", helpers,
     "what about this machine makes measurements worse, and what to do about each",
     "  ropewalk doctor\n  ropewalk doctor --quiet\n  ropewalk doctor --json --profile full"},
    {"include-dir", helpers, "print the folder with the headers that a kernel in C or C++ includes",
     "  g++ -std=c++20 -O3 -ffp-contract=off -shared -fPIC -I\"$(ropewalk include-dir)\" "
     "my_kernel.cpp -o my_kernel.so"},
    {"mutants", of_suite, "judge the suite itself: does it find every planted error?",
     "  ropewalk mutants\n  ropewalk mutants --kernel '*wrong_way*' --property decay\n"
     "  ropewalk mutants --profile standard --first-kill --strength 3"},
    {"merge", of_suite, "join the shards of verify --exhaustive to one certificate",
     "  ropewalk merge part1/results.jsonl part2/results.jsonl --out certificate\n"
     "  ropewalk merge --missing parts --out certificate"},
    {"encodings", of_suite,
     "RoPE beside nine other encodings of positions: which laws hold, with counterexamples",
     "  ropewalk encodings\n  ropewalk encodings rope alibi\n  ropewalk encodings --curves "
     "docs/curves"},
};

constexpr const char* exit_codes =
    "Exit codes: 0 every check passed, and at least one ran; 1 a claim failed or compared nothing, "
    "the ledger differs, a mutant survives, a speed is IMPLAUSIBLE, a kernel became slower, what "
    "diff or config compares differs, a model does not turn as its config says, or identify cannot "
    "explain a tensor; 2 usage or bad input, a plugin that cannot be loaded included; 3 nothing "
    "could be run or compared, a kernel lacks the data type of its model, a kernel's process was "
    "killed from outside twice, the timing is INVALID, a --budget is too small, or compare cannot "
    "tell; 141 standard output was closed early; --out has the rows written so far.";
constexpr const char* all_help = "print each failure as a block, also those of one cause";
constexpr const char* verbose_help =
    "print each data type on a line of its own, what was covered, and in run all speeds";
constexpr const char* quiet_help = "print only failures and the summary";
constexpr const char* beside_targets = "; plain, avx2 and avx512 are timed with them";

// The parts of the command line that no option of a verb holds.
struct Typed {
  std::string command_line;
  std::vector<std::string> behind_dashes;  // the arguments after --: flags of Google Benchmark
};

void add_ledger_options(CLI::App& verb, VerifyOptions& o) {
  CLI::Option* compare =
      add_value(verb, "--ledger", o.ledger, "FILE", "fail if the run and this ledger differ");
  add_value(verb, "--write-ledger", o.write_ledger, "FILE",
            "write the claims that hold to this ledger; rows outside this run stay")
      ->excludes(compare);
}

// Refuses an empty value, because it usually comes from a script's variable that was not set. Only
// --cpu-features may be empty: then no processor feature counts as present.
void refuse_empty_values(CLI::App& verb) {
  for (CLI::Option* option : verb.get_options())
    if (option->get_items_expected_max() > 0 && option->get_name() != "--cpu-features")
      option->check([](const std::string& text) { return text.empty() ? "is empty" : ""; }, "");
}

// ---- define() tells CLI11 the options of a verb. finish() completes what was parsed, and throws
// CLI::ValidationError if two options contradict each other.

void define(CLI::App& verb, ListOptions& o) {
  add_kernel_options(verb, o);
  add_no_cuda_option(verb, o);
  add_no_baselines_option(verb, o);
  add_workload_options(verb, o, false);
  verb.add_flag("--features", o.features,
                "show what each kernel offers in each pairing and data type");
  verb.add_flag("--libraries", o.libraries,
                "list the libraries that verify knows by name, and which are installed");
  verb.add_flag("--schema", o.schema, "print the JSON Schema of a line of results.jsonl");
  verb.add_flag("--words", o.words, "list the words of a replay line, as docs/replay.md has them");
  add_json_option(verb, o.json);
  add_quiet_option(verb, o.quiet, "leave out properties and workloads");
  add_cpu_features_option(verb, o.cpu_features);
}

void define(CLI::App& verb, ConfigOptions& o) {
  CLI::Option* files = verb.add_option("files", o.configs,
                                       "a model's config.json (Hugging Face); several are compared "
                                       "with the first");
  files->type_name("FILE")->required();
  add_answers(verb, o.answers, files);
  verb.add_flag("--pairs", o.pairs, "show each pair with its frequency, wavelength and turns");
  add_value(verb, "--inv-freq", o.inv_freq, "FILE",
            "compare the frequencies with the numbers in this file, as Python prints a list "
            "or a tensor of them");
  add_json_option(verb, o.json);
  add_quiet_option(verb, o.quiet, "leave out the workloads");
}

void define_judging(CLI::App& verb, JudgingOptions& o) {
  add_kernel_options(verb, o);
  add_judging_options(verb, o);
  add_identity_options(verb, o);
}

void define(CLI::App& verb, VerifyOptions& o) {
  add_targets(verb, o, "");
  define_judging(verb, o);
  add_no_cuda_option(verb, o);
  add_known_failures_option(verb, o.known_failures);
  add_ledger_options(verb, o);
  add_exhaustive_options(verb, o);
  add_workload_options(verb, o);
  CLI::Option* const dtype = verb.get_option("--dtype");
  dtype->description(dtype->get_description() +
                     "; with --exhaustive the type that is certified (default: f32; not f64)");
  add_json_option(verb, o.json);
  verb.add_flag("--all", o.all, all_help);
  verb.add_flag("-v,--verbose", o.verbose, verbose_help);
  verb.add_flag("--strict", o.strict,
                "of a library or of providers of angles: lost precision and matters of contract "
                "count as failures too");
  verb.add_flag("--fail-fast", o.fail_fast, "end at the first failure")
      ->excludes(verb.get_option("--known-failures"));
  add_quiet_option(verb, o.quiet, quiet_help);
  add_out_option(verb, o.out, "also append the rows to DIR/results.jsonl");
  add_value(verb, "--junit", o.junit, "FILE.xml", "also write the verdicts to this file, for CI")
      ->excludes(verb.get_option("--exhaustive"));
  add_cpu_features_option(verb, o.cpu_features);
  verb.add_flag("--one-case", o.one_case,
                "judge one case of each property, for a tool that is slow")
      ->excludes(verb.get_option("--ledger"), verb.get_option("--write-ledger"));
  verb.add_flag("--sanitizers", o.sanitizers,
                "then judge one case of each property below memcheck, racecheck, initcheck and "
                "synccheck of compute-sanitizer, for kernels of a device; a row for each tool")
      ->excludes(verb.get_option("--ledger"), verb.get_option("--write-ledger"));
}

// The suite is judged by the same kernels on every machine: the plugin beside the command is not
// among them.
void define(CLI::App& verb, MutantsOptions& o) {
  define_judging(verb, o);
  o.no_cuda = true;
  verb.add_flag("--first-kill", o.first_kill,
                "after a kernel's first failure, continue with the next kernel");
  add_number(verb, "--array-cases", o.array_cases, 1, 10'000'000,
             "at most N cases of the covering array for each pairing and data type (default: all)");
  add_value(verb, "--markdown", o.markdown, "FILE.md",
            "also write the matrix and the scores to this file");
  add_number(verb, "--strength", o.strength, 2, 6,
             "only mutants that need this many conditions at once: 2, 3, ...");
  add_json_option(verb, o.json);
  add_quiet_option(verb, o.quiet, quiet_help);
  add_cpu_features_option(verb, o.cpu_features);
}

void define(CLI::App& verb, BenchOptions& o) {
  add_targets(verb, o, beside_targets);
  add_kernel_options(verb, o);
  add_no_cuda_option(verb, o);
  add_no_baselines_option(verb, o);
  add_identity_options(verb, o);
  add_known_failures_option(verb, o.known_failures);
  add_timing_options(verb, o);
  add_workload_options(verb, o);
  add_json_option(verb, o.json);
  add_quiet_option(verb, o.quiet, quiet_help);
  add_export_option(verb, o.export_file);
  add_out_option(verb, o.out, "also append the rows to DIR/results.jsonl");
  add_engine_option(verb, o.google_benchmark);
  add_cpu_features_option(verb, o.cpu_features);
}

void define(CLI::App& verb, RunOptions& o) {
  add_targets(verb, o.verify, beside_targets);
  define_judging(verb, o.verify);
  add_no_cuda_option(verb, o.verify);
  add_no_baselines_option(verb, o.bench);
  add_known_failures_option(verb, o.verify.known_failures);
  add_timing_options(verb, o.bench);
  add_workload_options(verb, o.bench);
  verb.add_flag("--all", o.verify.all, all_help);
  verb.add_flag("-v,--verbose", o.verify.verbose, verbose_help);
  add_quiet_option(verb, o.verify.quiet, quiet_help);
  add_export_option(verb, o.bench.export_file);
  add_out_option(verb, o.out, "folder for results and reports (default: ropewalk-out)");
  add_cpu_features_option(verb, o.verify.cpu_features);
}

void define(CLI::App& verb, DoctorOptions& o) {
  add_profile_option(verb, o.profile);
  add_workload_options(verb, o);
  add_json_option(verb, o.json);
  add_quiet_option(verb, o.quiet, "print only what makes measurements worse, and the summary");
}

void define(CLI::App& verb, EncodingsOptions& o) {
  auto* const names = verb.add_option("NAME", o.names, "only these encodings, each with all laws");
  names->type_name("NAME");
  add_value(verb, "--curves", o.curves, "DIR",
            "write the page's curves into this folder, as CSV and as pictures, and print no "
            "page")
      ->excludes(names);
}

void define(CLI::App& verb, MergeOptions& o) {
  add_json_option(verb, o.json);
  add_quiet_option(verb, o.quiet, "print nothing");
  CLI::Option* files = verb.add_option("files", o.files, "the results.jsonl of each shard");
  files->type_name("FILE");
  add_value(verb, "--missing", o.missing, "DIR",
            "join the shards in the folders of this folder, or print the commands that make "
            "those that are missing, cut off or from another binary (exit code 3)")
      ->excludes(files);
  add_out_option(verb, o.out,
                 "folder for certificate.jsonl and certificate.md (needed without --missing)");
}

void define(CLI::App& verb, ReplayOptions& o) {
  verb.add_flag("--json", o.json, "print the finding as one line of JSON");
  verb.add_option("line", o.line, "the words after 'ropewalk replay', in quotes")->required();
  add_cpu_features_option(verb, o.cpu_features);
  add_python_option(verb);
  add_tolerate_option(verb, o.tolerated);
}

void define(CLI::App& verb, ReportOptions& o) {
  add_value(verb, "results", o.results_file, "FILE", "a results.jsonl")->required();
  add_export_option(verb, o.export_file);
  add_out_option(verb, o.out, "folder for the reports (default: where the results are)");
}

void define(CLI::App& verb, CompareOptions& o) {
  add_value(verb, "runs", o.files, "RUN | A B",
            "the results.jsonl of one run with --plugin base=FILE --plugin head=FILE, whose "
            "builds are compared; or those of two runs, the older first")
      ->required()
      ->expected(1, 2);
  add_value(verb, "--max-regression", o.max_regression, "PERCENT",
            "the percentage by which a kernel may become slower; if a larger regression may "
            "hide in the noise, a line says so, and the exit code is 3")
      ->capture_default_str()
      ->check(from_to(0, 1000, "0 to 1000"));
  add_value(verb, "--unresolved", o.unresolved, "pass|fail",
            "what \"cannot tell\" means to a job: pass is exit code 0 with a warning line (the "
            "default for one run), fail is exit code 3 (the default for two)")
      ->check(CLI::IsMember({"pass", "fail"}));
  add_value(verb, "--markdown", o.markdown, "FILE.md", "write the comparison to this file");
}

void define(CLI::App&, IncludeDirOptions&) {}

template <class Options>
void finish(Options& o, const CLI::App&, const Typed& typed) {
  if constexpr (std::is_base_of_v<RunIdentity, Options>) o.command_line = typed.command_line;
}

void shorten_for_targets(RunIdentity& run, const KernelChoice& choice, const CLI::App& verb) {
  if (!choice.targets.empty() && verb.count("--profile") == 0) run.profile = Profile::smoke;
}

void finish(VerifyOptions& o, const CLI::App& verb, const Typed& typed) {
  o.command_line = typed.command_line;
  shorten_for_targets(o, o, verb);
  if (!o.shard.taken_from.empty()) {
    const std::size_t at = o.command_line.find("auto/", o.command_line.find("--shard"));
    o.command_line.replace(at, 4, std::to_string(o.shard.i));
    if (!o.out.empty()) o.out += "/shard" + std::to_string(o.shard.i);
  }
  if (!o.chooses()) return;
  for (const auto& [given, option] :
       {std::pair{o.exhaustive, "--exhaustive"}, std::pair{!o.ledger.empty(), "--ledger"},
        std::pair{!o.write_ledger.empty(), "--write-ledger"}})
    if (given)
      throw CLI::ValidationError(
          option,
          "takes no --shape, --config, --workload or --workload-file: it is for all shapes");
}

void finish(MergeOptions& o, const CLI::App&, const Typed&) {
  if (!o.missing.empty()) return;
  if (o.files.empty()) throw CLI::ValidationError("FILE", "give results files, or --missing DIR");
  if (o.out.empty()) throw CLI::ValidationError("--out", "is needed");
}

void finish(BenchOptions& o, const CLI::App& verb, const Typed& typed) {
  o.command_line = typed.command_line;
  shorten_for_targets(o, o, verb);
  o.benchmark_args = typed.behind_dashes;
  if (!o.benchmark_args.empty() && verb.count("--engine") > 0 && !o.google_benchmark)
    throw CLI::ValidationError("--", "--engine paired takes no flags of Google Benchmark");
  if (const std::string fault = bench::benchmark_flag_fault(o.benchmark_args); !fault.empty())
    throw CLI::ValidationError("--", fault);
  o.google_benchmark = o.google_benchmark || !o.benchmark_args.empty();
  if (o.google_benchmark &&
      (o.rounds > 0 || o.launches > 0 || o.budget_s > 0 || o.threads > 1 || !o.baseline.empty()))
    throw CLI::ValidationError("--engine gbench",
                               "takes no --budget, --rounds, --launches, --threads or --baseline");
}

// CLI11 stored the options that both parts of `run` share in `verify`. They are copied to `bench`.
void finish(RunOptions& o, const CLI::App& verb, const Typed& typed) {
  o.verify.command_line = typed.command_line;
  shorten_for_targets(o.verify, o.verify, verb);
  o.verify.margin = o.bench.margin;
  static_cast<RunIdentity&>(o.bench) = o.verify;
  const bool baselines = o.bench.baselines;
  static_cast<KernelChoice&>(o.bench) = o.verify;
  o.bench.baselines = baselines;
  static_cast<WorkloadChoice&>(o.verify) = o.bench;
  o.verify.part_of_run = true;
  o.bench.known_failures = o.verify.known_failures;
  o.bench.quiet = o.verify.quiet;
  o.bench.verbose = o.verify.verbose;
  o.bench.out = o.out;
  o.bench.part_of_run = true;
}

template <class Options>
void add_verb(CLI::App& app, const VerbWords& v, const Typed& typed, Parsed& parsed) {
  const auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(v.name, v.summary)->group(v.group);
  verb->footer("Examples:\n" + std::string(v.examples) +
               "\n\nropewalk --help has the exit codes of all verbs.");
  define(*verb, *options);
  refuse_empty_values(*verb);
  verb->callback([options, verb, &typed, &parsed] {
    if (!std::is_same_v<Options, BenchOptions> && !typed.behind_dashes.empty())
      throw CLI::ValidationError("--", "only bench takes Google Benchmark's flags");
    finish(*options, *verb, typed);
    parsed.verb = verb->get_name();
    parsed.options = *options;
  });
}

// In the order of VerbOptions.
template <std::size_t... I>
void add_verbs(CLI::App& app, const Typed& typed, Parsed& parsed, std::index_sequence<I...>) {
  static_assert(sizeof...(I) == std::size(verb_words));
  (add_verb<std::variant_alternative_t<I, VerbOptions>>(app, verb_words[I], typed, parsed), ...);
}

// The distance by optimal string alignment: no part of the text is edited twice.
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({changed, last[j] + 1, now[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = now;
  }
  return last[b.size()];
}

// Suggests the known word with the fewest edits: a letter added, left out or changed, or two
// neighbours swapped. Empty if no word is within a third of the word's length.
std::string suggestion_for(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t length_max = 100;  // no name is longer
  if (word.size() > length_max) return {};
  std::size_t least = word.size() / 3 + 1;
  std::string nearest;
  for (const std::string& name : known)
    if (const std::size_t edits = edits_between(word, name); edits < least) {
      least = edits;
      nearest = name;
    }
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

// Suggests the option that the user probably meant by the first unknown one.
std::string suggested_option(const CLI::App& app) {
  for (const CLI::App* verb : app.get_subcommands()) {
    std::vector<std::string> names;
    for (const CLI::Option* option : verb->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& word : verb->remaining())
      if (word.starts_with("--")) return suggestion_for(word.substr(0, word.find('=')), names);
  }
  return {};
}

}  // namespace

std::string read_shard(const std::string& text, Shard& shard) {
  const std::size_t slash = text.find('/');
  const std::string i = text.substr(0, slash);
  const auto n = number(slash == std::string::npos ? "" : text.substr(slash + 1));
  if (n && i == "auto") {
    if (std::string wrong = read_environment(shard); !wrong.empty()) return wrong;
  } else {
    shard.i = number(i).value_or(0);
  }
  shard.n = n.value_or(0);
  if (1 <= shard.i && shard.i <= shard.n && shard.n <= most_shards) return {};
  return fmt::format("{}{}must be i/n with 1 <= i <= n <= {}", shard.taken_from,
                     shard.taken_from.empty() ? "" : ": ", most_shards);
}

std::string shell_word(const std::string& text) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  const bool is_plain = !text.empty() && text.find_first_not_of(plain) == std::string::npos;
  return is_plain ? text : quoted(text);
}

std::string profile_name(Profile profile) {
  return profile == Profile::smoke ? "smoke" : profile == Profile::standard ? "standard" : "full";
}

Parsed parse_command_line(int argc, char** argv) {
  Parsed parsed;
  Typed typed;
  for (int i = 0; i < argc; ++i)
    typed.command_line += i > 0 ? " " + shell_word(argv[i]) : "ropewalk";
  // Google Benchmark reads the arguments after --. This parser reads those before it.
  int ours = argc;
  for (int i = 1; i < argc && ours == argc; ++i)
    if (std::string(argv[i]) == "--") ours = i;
  for (int i = ours + 1; i < argc; ++i) typed.behind_dashes.emplace_back(argv[i]);

  CLI::App app{"Ropewalk: conformance suite and benchmark for rotary position embedding kernels",
               "ropewalk"};
  use_spaced_help(app);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("ropewalk ") + ROPEWALK_VERSION);
  app.footer(std::string("ropewalk VERB --help shows a verb's options and examples.\n\n") +
             exit_codes);
  add_verbs(app, typed, parsed, std::make_index_sequence<std::variant_size_v<VerbOptions>>());
  try {
    const std::string first = ours > 1 ? argv[1] : "";
    std::vector<std::string> verbs;
    for (const VerbWords& v : verb_words) verbs.emplace_back(v.name);
    if (!first.empty() && first[0] != '-' && std::ranges::count(verbs, first) == 0)
      throw CLI::ValidationError("unknown verb '" + first + "'" +
                                 (is_file_target(first)
                                      ? "; did you mean ropewalk verify " + first + "?"
                                      : suggestion_for(first, verbs)));
    app.parse(ours, argv);
    parsed.run = true;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app.exit(e);
    } else {
      const std::vector<CLI::App*> verb = app.get_subcommands();
      parsed.error =
          fmt::format("{}{} (ropewalk {}--help shows what there is)", e.what(),
                      suggested_option(app), verb.empty() ? "" : verb[0]->get_name() + " ");
      parsed.exit_code = 2;
    }
  }
  return parsed;
}

}  // namespace ropewalk::tools
