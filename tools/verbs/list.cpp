#include <fmt/format.h>

#include "benchmarks/workloads/workloads.h"
#include "harness/cases/fields.h"
#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "harness/worker/own_workers.h"
#include "properties/array/asking.h"
#include "reports/document/document.h"
#include "tools/command/session.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace properties;
using namespace report;
namespace {

void print_table(std::vector<Column> columns, std::vector<TableRow> rows) {
  fmt::print("{}", terminal_text(Table{"", std::move(columns), std::move(rows), "", 2}));
}

// One line: name, angles, data types, what it is.
void list_kernel(Subject& subject, const std::vector<ModelShape>& models) {
  const KernelFacts& k = subject.facts;
  std::string takes, more;
  if (k.cannot_run.empty() || k.memory == ROPE_CUDA) {  // supports needs no device
    const std::vector<Probe> probes = probes_of(subject, models);
    for (std::size_t i = 0; i < std::size(tensor_dtypes); ++i)
      if (probes[i].offer || probes[i + std::size(tensor_dtypes)].offer)
        takes += (takes.empty() ? "" : " ") + std::string(word_of(tensor_dtypes[i]));
    if (takes.empty()) more = "; UNSUPPORTED: " + why_refused(probes.front());
  }
  if (!k.cannot_run.empty()) more += "; SKIPPED: " + k.cannot_run;
  if (!k.plugin.empty()) more += "; plugin " + k.plugin;
  const std::string angles(word_of(contract_words, k.angle_contract));
  print_table({{.width = 20}, {.width = 9}, {.width = 16}},
              {{{k.name, angles, takes, k.summary + more}}});
}

// With what it offers in each pairing and data type.
void list_features(Subject& subject, const std::vector<ModelShape>& models) {
  const KernelFacts& k = subject.facts;
  std::string facts = fmt::format("angles: {}", word_of(contract_words, k.angle_contract));
  if (k.memory != ROPE_HOST) facts += fmt::format("; memory {}", word_of(memory_words, k.memory));
  if (const std::string words = words_beside(judged_on(k)); !words.empty())
    facts += (words == by_host_launcher ? "; judged by the " : "; judged on ") + words;
  if (!k.cpu_features.empty()) facts += "; needs " + k.cpu_features;
  if (k.error_bound > 0) facts += fmt::format("; declared error {:g} u", k.error_bound);
  if (!k.plugin.empty()) facts += "; plugin " + k.plugin;
  std::vector<TableRow> rows{{{k.name, k.summary}}, {{"", facts}}};
  if (!k.cannot_run.empty()) rows.push_back({{"", "SKIPPED: " + k.cannot_run}});
  std::vector<Probe> probes;
  if (k.cannot_run.empty() || k.memory == ROPE_CUDA) probes = probes_of(subject, models);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const Dtype dtype = tensor_dtypes[i % std::size(tensor_dtypes)];
    const Pairing pairing =
        i < std::size(tensor_dtypes) ? Pairing::half_split : Pairing::interleaved;
    const Probe probe = with_levels(subject, probes[i]);
    std::string text =
        probe.offer ? offer_words(*probe.offer) : "UNSUPPORTED: " + why_refused(probe);
    if (const std::string words = declared_words(k, dtype); probe.offer && !words.empty())
      text += "; " + words;
    rows.push_back({{"", fmt::format("{} {}", word_of(pairing), word_of(dtype)), text}});
  }
  print_table({{.width = 20}}, std::move(rows));
}

void list_json(const KernelFacts& k) {
  KernelRow row;
  row.kernel = k.name;
  row.summary = k.summary;
  row.plugin = k.plugin;
  row.angle_contract = word_of(contract_words, k.angle_contract);
  row.memory = word_of(memory_words, k.memory);
  row.cpu_features = k.cpu_features;
  row.cannot_run = k.cannot_run;
  row.judged_on = judged_on(k);
  row.error_bound = k.error_bound;
  fmt::print("{}\n", to_json_line(row));
}

}  // namespace

void print_workloads(const WorkloadChoice& choice) {
  fmt::print("\nWorkloads\n");
  std::vector<TableRow> rows;
  for (const Workload& w : all_workloads(choice))
    if (matches(choice.workloads, w.name))
      rows.push_back(
          {{w.name, fmt::format("{}; profiles {}", board_of(w, ""), fmt::join(w.profiles, ", "))}});
  print_table({}, std::move(rows));
}

int run(const ListOptions& options) {
  if (options.libraries) return list_libraries();
  if (options.schema) {
    fmt::print("{}", results_schema());
    return 0;
  }
  if (options.words) {
    fmt::print("{}\n{}", words_of_a_case(), words_of_a_tensor());
    return 0;
  }
  const auto workloads = all_workloads(options);
  const PluginKernels found = kernels_by_plugin(worker_options(options));
  require_kernels(found.kernels, options);
  OwnWorkers workers(worker_options(options), found);
  Oracle oracle;
  const std::vector<ModelShape> models = model_shapes(workloads);
  if (!options.json)
    fmt::print("Kernels{}\n", options.features ? "" : " (angles, data types; --features has more)");
  for (const KernelFacts& k : found.kernels) {
    if (!matches(options.kernels, k.name)) continue;
    Subject subject{workers.of(k), oracle, k};
    if (options.json)
      list_json(k);
    else
      (options.features ? list_features : list_kernel)(subject, models);
    flush_output();
  }
  if (options.json || options.quiet) return 0;
  fmt::print("\nProperties\n");
  std::vector<TableRow> rows;
  for (const Property* p : all_properties())
    rows.push_back(
        {{Text(p->name),
          fmt::format("{}{}{}", p->claim, p->judged_by_oracle ? " (oracle)" : "",
                      p->from == Profile::smoke ? "" : " (from the profile standard on)")}});
  print_table({}, std::move(rows));
  print_workloads(options);
  return 0;
}

}  // namespace ropewalk::tools
