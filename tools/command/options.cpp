#include "tools/command/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <random>

#include "benchmarks/engine/board.h"
#include "benchmarks/workloads/model_shape.h"
#include "properties/search/judges.h"
#include "tools/command/suggestion.h"

namespace ropewalk::tools {
using namespace properties;
namespace {

constexpr std::uint64_t default_seed = 20210420;  // the day RoFormer appeared
constexpr const char* exit_codes =
    "Exit codes: 0 all held; 1 a claim failed, or what was held together differs; 2 usage or bad "
    "input; 3 nothing could be run, the timing is INVALID, or two runs cannot tell; 141 the reader "
    "of standard output left.";

struct Verb {
  const char* name;
  const char* summary;
  const char* examples;
};
constexpr Verb verbs[] = {
    {"list", "kernels, properties and workloads, and what each kernel offers",
     "  ropewalk list\n  ropewalk list --plugin ./my_kernel.so\n  ropewalk list --float-modes\n  "
     "ropewalk list --cpu-features ''\n  ropewalk list --config Meta-Llama-3-8B/config.json"},
    {"verify", "judge kernels: is this one right?",
     "  ropewalk verify\n  ropewalk verify --profile smoke --kernel 'p*'\n"
     "  ropewalk verify --plugin ./my_kernel.so --kernel my_kernel --property norm --property "
     "decay\n"
     "  ropewalk verify --exhaustive --kernel phase --out certificate\n"
     "  ropewalk verify --exhaustive --kernel phase --positions 0:65535 --shard 1/4 --out part1"},
    {"merge", "join the shards of verify --exhaustive to one certificate",
     "  ropewalk merge part1/results.jsonl part2/results.jsonl --out certificate"},
    {"replay", "run one case again, from the line that a failure printed",
     "  ropewalk replay 'kernel=plain property=agreement positions=70001 q.heads=1'"},
    {"mutants", "judge the suite itself: does every planted error die?",
     "  ropewalk mutants\n  ropewalk mutants --kernel '*wrong_way*' --property decay"},
    {"bench", "verify kernels and time those that hold, in paired rounds",
     "  ropewalk bench --profile smoke\n  ropewalk bench --workload 'llama*' --baseline avx2\n"
     "  ropewalk bench --config Meta-Llama-3-8B/config.json --workload '*/decode-*'\n"
     "  ropewalk bench --shape q=32,k=8,d=128,rd=64,theta=500000\n"
     "  ropewalk bench --shape q=16,d=256,tokens=512,pairing=interleaved,in_place=no\n"
     "  ropewalk bench --launches 5 --rounds 40 --out night --resume\n"
     "  ropewalk bench -- --benchmark_filter=decode --benchmark_repetitions=20"},
    {"doctor", "what about this machine makes measurements worse, and what to do about each",
     "  ropewalk doctor\n  ropewalk doctor --quiet\n  ropewalk doctor --json --profile full"},
    {"report", "make report.html, report.md, results.csv and junit.xml from a results file",
     "  ropewalk report ropewalk-out/results.jsonl\n"
     "  ropewalk report results.jsonl --out somewhere --history runs.jsonl\n"
     "  ropewalk report results.jsonl --splice README.md\n"
     "  ropewalk report --check report.html\n  ropewalk report --check report.html results.jsonl"},
    {"compare", "two runs on one machine class: what became faster, slower, broken",
     "  ropewalk compare before/results.jsonl after/results.jsonl\n"
     "  ropewalk compare before.html after.html --max-regression 10 --markdown comment.md"},
    {"run", "verify, bench and report in one go",
     "  ropewalk run\n  ropewalk run --profile smoke --out build/report\n"
     "  ropewalk run --plugin ./my_kernel.so"},
};

// A seed is a number or the word "random".
std::string read_seed(const std::string& text, std::uint64_t& seed) {
  if (text == "random") {
    std::random_device device;
    seed = (std::uint64_t{device()} << 32) | device();
    return {};
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size())
    return "a seed is a number from 0 to 2^64 - 1 or the word random, not '" + text + "'";
  return {};
}

void add_kernel_options(CLI::App& verb, Options& o) {
  verb.add_option("--kernel", o.kernels, "only kernels whose name matches this glob (repeatable)")
      ->type_name("GLOB")
      ->expected(1)
      ->take_all();
  verb.add_option("--plugin", o.plugins,
                  "also load the kernels of this shared library (repeatable)")
      ->type_name("FILE.so")
      ->expected(1)
      ->take_all();
  verb.add_option("--cpu-features", o.cpu_features,
                  "act like an older machine: only these count as present, e.g. avx2,fma")
      ->type_name("LIST");
}

void add_verify_options(CLI::App& verb, Options& o) {
  verb.add_option("--property", o.properties,
                  "only properties whose name matches this glob (repeatable)")
      ->type_name("GLOB")
      ->expected(1)
      ->take_all();
  verb.add_option("--cases", o.cases, "generated cases for each property (default: the profile's)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}, "1 to 10000000"));
  verb.add_option("--jobs", o.jobs,
                  "processes that judge side by side (default: the processors, 8 at most)")
      ->type_name("N")
      ->check(CLI::Range(1, 64, "1 to 64"));
}

void add_known_failures_option(CLI::App& verb, Options& o) {
  verb.add_option("--known-failures", o.known_failures,
                  "failures of which a line of this file says KERNEL PROPERTY YYYY-MM-DD reason "
                  "are shown and do not count until that day")
      ->type_name("FILE");
}

void add_ledger_options(CLI::App& verb, Options& o) {
  CLI::Option* compare =
      verb.add_option("--ledger", o.ledger, "fail where the run and this ledger differ")
          ->type_name("FILE");
  verb.add_option("--write-ledger", o.write_ledger,
                  "write what holds to this ledger; rows that were not asked for stay")
      ->type_name("FILE")
      ->excludes(compare);
}

void add_exhaustive_options(CLI::App& verb, Options& o) {
  CLI::Option* exhaustive = verb.add_flag("--exhaustive", o.exhaustive,
                                          "every position of a range, in place of the properties");
  verb.add_option("--positions", o.positions, "the range (default: 0:2147483647)")
      ->type_name("A:B")
      ->needs(exhaustive);
  verb.add_option("--shard", o.shard, "part i of n of the range; merge joins them")
      ->type_name("i/n")
      ->needs(exhaustive);
  verb.add_flag("--resume", o.resume, "go on where the run in --out was cut off")
      ->needs(exhaustive);
  verb.add_option("--rotary-dim", o.rotary_dim, "rotated elements of a head (default: 128)")
      ->type_name("N")
      ->needs(exhaustive);
  verb.add_option("--rope-theta", o.rope_theta, "base of the frequencies (default: 10000)")
      ->type_name("X")
      ->needs(exhaustive);
}

void add_bench_options(CLI::App& verb, Options& o) {
  verb.add_option("--engine", o.engine,
                  "paired (rounds in a balanced order, the default) or gbench (Google Benchmark)")
      ->type_name("paired|gbench")
      ->check(CLI::IsMember({"paired", "gbench"}));
  verb.add_option("--rounds", o.rounds, "rounds of a launch, at least (default: the profile's)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{6}, std::int64_t{800}, "6 to 800"));
  verb.add_option("--launches", o.launches, "fresh processes (default: the profile's)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100}, "1 to 100"));
  verb.add_option("--threads", o.threads,
                  "also with so many at once, each on a processor and a set of its own")
      ->type_name("N")
      ->check(CLI::Range(1, 1024, "1 to 1024"));
  verb.add_option("--baseline", o.baseline,
                  "what ratios are to, where it offers the board (default: plain, else the first)")
      ->type_name("KERNEL");
  verb.add_flag("--resume", o.resume,
                "keep what the run in --out had measured when it was cut off");
}

void add_profile_option(CLI::App& verb, Options& o) {
  verb.add_option_function<std::string>(
          "--profile",
          [&o](const std::string& name) {
            for (const Profile p : {Profile::smoke, Profile::standard, Profile::full})
              if (profile_name(p) == name) {
                o.profile = p;
                return;
              }
            throw CLI::ValidationError("--profile", "'" + name + "' is no profile");
          },
          "smoke (a minute in all), standard (the default) or full")
      ->type_name("smoke|standard|full");
}

void add_common_options(CLI::App& verb, Options& o, std::string& seed) {
  add_profile_option(verb, o);
  verb.add_option("--seed", seed, "seed of all data and cases; printed with the results")
      ->type_name("N|random");
}

void add_quiet_option(CLI::App& verb, Options& o) {
  const std::string name = verb.get_name();
  verb.add_flag("--quiet", o.quiet,
                name == "list"     ? "leave out properties and workloads"
                : name == "doctor" ? "print only what makes measurements worse, and the summary"
                : name == "merge"  ? "print nothing"
                                   : "print only failures and the summary");
}

void add_output_options(CLI::App& verb, Options& o) {
  verb.add_flag("--json", o.json, "print rows as JSON lines on standard output");
  add_quiet_option(verb, o);
}

void add_workload_options(CLI::App& verb, Options& o) {
  verb.add_option("--workload", o.workloads,
                  "only workloads whose name matches this glob (repeatable)")
      ->type_name("GLOB")
      ->expected(1)
      ->take_all();
  verb.add_option("--workload-file", o.workload_file, "read workloads from this TOML file")
      ->type_name("FILE.toml");
  CLI::Option* config =
      verb.add_option("--config", o.configs,
                      "a model's config.json (Hugging Face): its shape through all phases "
                      "(repeatable); list --config shows what was read")
          ->type_name("config.json")
          ->expected(1)
          ->take_all();
  verb.add_option("--pairing", o.pairing,
                  "for --config: which pairs are turned, where its model_type is not known")
      ->type_name("half_split|interleaved")
      ->check(CLI::IsMember({"half_split", "interleaved"}))
      ->needs(config);
  verb.add_option(
          "--shape", o.shapes,
          std::string("a shape, e.g. q=32,k=8,d=128,tokens=512 (repeatable): ") + bench::shape_help)
      ->type_name("WORDS")
      ->expected(1)
      ->take_all();
}

void add_report_options(CLI::App& verb, Options& o) {
  verb.add_option("results", o.results_file, "a results.jsonl, or a report.html, which carries its")
      ->type_name("FILE");
  CLI::Option* check =
      verb.add_option("--check", o.check,
                      "work every number of this page out again, from FILE or from what it carries")
          ->type_name("REPORT.html");
  CLI::Option* history =
      verb.add_option("--history", o.history,
                      "append the run to this file of runs of one machine class, and show how "
                      "speeds went over them")
          ->type_name("RUNS.jsonl")
          ->excludes(check);
  verb.add_option("--splice", o.splice,
                  "write no report, but its tables between the markers of this document: "
                  "<!-- ropewalk leaderboards --> ... <!-- ropewalk end -->")
      ->type_name("FILE.md")
      ->excludes(check)
      ->excludes(history);
}

void add_compare_options(CLI::App& verb, Options& o) {
  verb.add_option("runs", o.files, "two runs, the older first: results.jsonl or report.html")
      ->required()
      ->expected(2)
      ->type_name("A B");
  verb.add_option("--max-regression", o.max_regression,
                  "a kernel may become that much slower, in percent; where a larger regression "
                  "might hide in the noise, that is said, and the exit code is 3")
      ->type_name("PERCENT")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1000.0, "0 to 1000"));
  verb.add_option("--markdown", o.markdown, "write the comparison to this file")
      ->type_name("FILE.md");
}

// No text is the name of no file, kernel or seed: a variable of a script that was not set. That no
// processor feature is there can be said.
void refuse_empty_values(CLI::App& verb) {
  for (CLI::Option* option : verb.get_options())
    if (option->get_items_expected_max() > 0 && option->get_name() != "--cpu-features")
      option->check([](const std::string& text) { return text.empty() ? "is empty" : ""; }, "");
}

CLI::App* add_verb(CLI::App& app, const Verb& v, Options& o, std::string& seed) {
  const std::string name = v.name;
  CLI::App* verb = app.add_subcommand(name, v.summary);
  verb->footer("Examples:\n" + std::string(v.examples) + "\n\n" + exit_codes);
  const bool judges = name == "verify" || name == "mutants" || name == "run";
  if (judges || name == "list" || name == "bench") add_kernel_options(*verb, o);
  if (judges) add_verify_options(*verb, o);
  if (judges || name == "bench") add_common_options(*verb, o, seed);
  if (name == "doctor") add_profile_option(*verb, o);
  if (name == "verify" || name == "bench" || name == "run") add_known_failures_option(*verb, o);
  if (name == "verify") add_ledger_options(*verb, o);
  if (name == "mutants")
    verb->add_flag("--first-kill", o.first_kill,
                   "go on to the next kernel after the first failure of one");
  if (name == "mutants")
    verb->add_option("--markdown", o.markdown, "also write the matrix and the scores to this file")
        ->type_name("FILE.md");
  if (name == "verify") add_exhaustive_options(*verb, o);
  if (name == "list")
    verb->add_flag("--float-modes", o.float_modes,
                   "also run each kernel as a caller with flush to zero or another rounding would");
  if (name == "bench" || name == "run") add_bench_options(*verb, o);
  const bool takes_workloads =
      name == "bench" || name == "run" || name == "list" || name == "doctor";
  if (takes_workloads) add_workload_options(*verb, o);
  if (name != "report" && name != "run" && name != "replay" && name != "compare")
    add_output_options(*verb, o);
  if (name == "run") add_quiet_option(*verb, o);
  if (name == "replay") {
    verb->add_flag("--json", o.json, "print the finding as one line of JSON");
    verb->add_option("line", o.replay_text, "the words behind 'ropewalk replay', in quotes")
        ->required();
    verb->add_option("--cpu-features", o.cpu_features, "act like an older machine")
        ->type_name("LIST");
  }
  if (name == "report") add_report_options(*verb, o);
  if (name == "compare") add_compare_options(*verb, o);
  if (name == "merge") {
    verb->add_option("files", o.files, "the results.jsonl of each shard")
        ->required()
        ->type_name("FILE");
    verb->add_option("--out", o.out, "folder for certificate.jsonl and certificate.md")
        ->required()
        ->type_name("DIR");
  }
  const char* folder =
      name == "run"      ? "folder for results and reports (default: ropewalk-out)"
      : name == "report" ? "folder for the reports (default: where the results are)"
      : name == "verify" || name == "bench" ? "also append the rows to DIR/results.jsonl"
                                            : nullptr;
  if (folder != nullptr) verb->add_option("--out", o.out, folder)->type_name("DIR");
  refuse_empty_values(*verb);
  return verb;
}

std::string suggestion_for(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = nearest_to(word, known);
  return nearest.empty() ? "" : "; " + word + ": did you mean " + nearest + "?";
}

// The option that the first unknown one was probably meant to be.
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

std::string suggested_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& v : verbs) names.emplace_back(v.name);
  return suggestion_for(word, names);
}

}  // namespace

std::string profile_name(Profile profile) {
  return profile == Profile::smoke ? "smoke" : profile == Profile::standard ? "standard" : "full";
}

Parsed parse_command_line(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  o.seed = default_seed;
  o.jobs = usual_judges();
  std::string seed;
  for (int i = 0; i < argc; ++i)
    o.command_line += (i > 0 ? " " : "") + std::string(i > 0 ? argv[i] : "ropewalk");
  // What stands behind -- belongs to Google Benchmark.
  int ours = argc;
  for (int i = 1; i < argc && ours == argc; ++i)
    if (std::string(argv[i]) == "--") ours = i;
  for (int i = ours + 1; i < argc; ++i) o.benchmark_args.emplace_back(argv[i]);

  CLI::App app{"Ropewalk: conformance suite and benchmark for rotary position embedding kernels",
               "ropewalk"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("ropewalk ") + ROPEWALK_VERSION);
  app.footer(std::string("ropewalk VERB --help shows a verb's options and examples.\n\n") +
             exit_codes);
  for (const Verb& v : verbs) add_verb(app, v, o, seed)->callback([&o, v] { o.verb = v.name; });
  try {
    const std::string first = ours > 1 ? argv[1] : "";
    const bool known = std::any_of(std::begin(verbs), std::end(verbs),
                                   [&](const Verb& v) { return first == v.name; });
    if (!first.empty() && first[0] != '-' && !known)
      throw CLI::ValidationError("'" + first + "' is no verb" + suggested_verb(first));
    app.parse(ours, argv);
    if (!seed.empty())
      if (const std::string wrong = read_seed(seed, o.seed); !wrong.empty())
        throw CLI::ValidationError("--seed", wrong);
    if (!o.benchmark_args.empty() && o.verb != "bench" && o.verb != "run")
      throw CLI::ValidationError("--", "only bench and run take Google Benchmark's flags");
    if (o.verb == "report" && o.results_file.empty() && o.check.empty())
      throw CLI::ValidationError("report", "needs a results.jsonl");
    if (!o.benchmark_args.empty() && o.engine == "paired")
      throw CLI::ValidationError("--", "--engine paired takes no flags of Google Benchmark");
    if (const std::string fault = bench::benchmark_flag_fault(o.benchmark_args); !fault.empty())
      throw CLI::ValidationError("--", fault);
    const bool benches = o.verb == "bench" || o.verb == "run";
    if (o.engine.empty()) o.engine = o.benchmark_args.empty() ? "paired" : "gbench";
    if (benches && o.engine == "gbench" &&
        (o.rounds > 0 || o.launches > 0 || o.resume || !o.baseline.empty()))
      throw CLI::ValidationError("--engine gbench",
                                 "takes no --rounds, --launches, --baseline or --resume");
    if (o.verb == "bench" && o.resume && o.out.empty())
      throw CLI::ValidationError("--resume", "needs the --out of the run that was cut off");
    if (o.verb == "run" && o.out.empty()) o.out = "ropewalk-out";
    parsed.run = true;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app.exit(e);
    } else {
      parsed.error = e.what() + suggested_option(app) + " (ropewalk --help shows what there is)";
      parsed.exit_code = 2;
    }
  }
  return parsed;
}

}  // namespace ropewalk::tools
