#include <fmt/format.h>

#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "harness/worker/own_workers.h"
#include "properties/search/verdict_rows.h"
#include "properties/search/verify.h"
#include "tools/command/session.h"
#include "tools/verbs/failure_text.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;

int run(const ReplayOptions& options) {
  if (options.line.starts_with("provider=")) return replay_provider(options);
  const Case c = case_from_text(options.line);
  KernelChoice choice;
  choice.cpu_features = options.cpu_features;
  choice.no_cuda = true;
  WorkerOptions w = worker_options(choice);
  if (!c.plugin.empty()) w.plugins = w.tolerated_plugins = {c.plugin};
  w.tolerated = options.tolerated;
  const PluginKernels found = kernels_by_plugin(w);
  KernelFacts wanted;
  wanted.plugin = c.plugin;
  for (const KernelFacts& facts : found.kernels)
    if (facts.name == c.kernel) wanted = facts;
  OwnWorkers workers(w, found);
  Oracle oracle;
  const Replayed r = replay(workers.of(wanted), oracle, c);
  VerdictRow row = row_for(r.facts);
  row.pairing = word_of(c.pairing);
  row.dtype = word_of(c.dtype);
  set_property(*r.property, row);
  PropertyRun once;
  once.worst = r.finding;
  once.cause = r.cause;
  once.planned = 1;
  once.executed = r.finding.ran() ? 1 : 0;
  once.compared = r.finding.compared > 0 ? 1 : 0;
  once.values = r.finding.compared;
  if (!r.finding.holds()) once.failing = c;
  fill_verdict(row, once, r.facts, "");
  row.declared = declared_words(r.facts, c.dtype);
  if (options.json) {
    fmt::print("{}\n", to_json_line(row));
  } else {
    const auto print = [](std::string_view label, const std::string& text) {
      if (!text.empty()) print_lines(wrapped(fmt::format("  {:<10} {}", label, text), 13));
    };
    fmt::print("{} {} ({}): {}\n", row.verdict, row.kernel, cell_and_words(row), row.property);
    print("claim", row.claim);
    print("because", row.reason);
    if (row.verdict == Verdict::fail && row.margin > 1)
      print("error",
            fmt::format("{}, {} values compared", error_text(row, options.line), row.compared));
    else if (row.compared > 0)
      print("margin", fmt::format("{:.9g} of a bound of {:.4g} {}, {} values compared", row.margin,
                                  row.bound, row.bound_unit, row.compared));
    print("where", row.where);
    print("cause", row.cause);
    print("diagnosis", row.diagnosis);
  }
  return exit_code_of({row});
}

}  // namespace ropewalk::tools
