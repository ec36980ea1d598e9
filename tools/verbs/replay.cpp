#include <fmt/format.h>

#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "harness/worker/own_workers.h"
#include "properties/search/verdict_rows.h"
#include "properties/search/verify.h"
#include "reports/pages/checks.h"
#include "tools/command/session.h"
#include "tools/verbs/failures.h"
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
    Check check = check_of(row);
    if (row.verdict == Verdict::pass && row.compared > 0)
      check.facts.add("margin", fmt::format("{:.9g} of a bound of {:.4g} {}", row.margin, row.bound,
                                            row.bound_unit));
    print(check, 40);  // without what the replay line says
  }
  return exit_code_of({row});
}

}  // namespace ropewalk::tools
