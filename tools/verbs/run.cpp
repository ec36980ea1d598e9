#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/glob.h"
#include "base/text_file.h"
#include "harness/worker/own_workers.h"
#include "properties/observe/curves.h"
#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "tools/command/session.h"
#include "tools/command/workload_choice.h"
#include "tools/launches/launches.h"
#include "tools/verbs/failures.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

// A refuted claim decides the exit code, whatever else happened.
int combine(int verified, int benched) {
  if (verified == 1 || benched == 1) return 1;
  return verified != 0 ? verified : benched;
}

}  // namespace

int run(const RunOptions& options) {
  const std::filesystem::path folder = options.out;
  const auto workloads = chosen_workloads(options.bench, options.bench.profile);
  require_kernels(options.bench);  // the baselines among them
  print_what_is_not_timed(options.bench, options.bench.quiet);
  Recorder recorder(options.bench, folder.string());
  if (!options.bench.export_file.empty()) require_writable(options.bench.export_file);
  fmt::print("== verify ({})\n", profile_name(options.verify.profile));
  flush_output();
  std::set<std::string> judged, passing, failing;
  std::vector<VerdictRow> rows;
  const int verified = verify_and_print(options.verify, [&](const VerdictRow& row) {
    judged.insert(row.kernel);
    if (!is_not_run(row.verdict))
      (row.verdict == Verdict::pass ? passing : failing).insert(row.kernel);
    recorder.write(row);
    rows.push_back(row);
  });
  const PluginKernels found = kernels_by_plugin(worker_options(options.verify));
  {
    std::vector<KernelFacts> drawn = found.kernels;  // those that passed
    std::erase_if(drawn, [&](const KernelFacts& k) {
      return !passing.contains(k.name) || failing.contains(k.name);
    });
    OwnWorkers workers(worker_options(options.verify), found);
    Oracle oracle;
    for (const CurveRow& curve : decay_curves(workers, oracle, drawn)) recorder.write(curve);
    for (const CurveRow& curve : position_curves(workers, oracle, drawn)) recorder.write(curve);
  }
  fmt::print("\n== bench\n");
  flush_output();
  BenchOptions bench = options.bench;
  bench.began = std::chrono::steady_clock::now();
  const int benched =
      Launches(bench, workloads)
          .run(
              [&](const VerdictRow& row) {  // only the process that times the baselines judges them
                if (judged.contains(row.kernel)) return;
                recorder.write(row);
                rows.push_back(row);
              },
              [&](const TimingRow& row) { recorder.write(row); });
  // If only baselines were chosen, there was nothing to verify.
  const bool any_to_verify = std::ranges::any_of(
      found.kernels, [&](const KernelFacts& k) { return matches(options.verify.kernels, k.name); });
  const int code = any_to_verify ? combine(verified, benched) : benched;
  recorder.finish(code);
  const Results results = read_results(recorder.file());
  write_report(results, folder);
  if (!options.bench.export_file.empty())
    write_whole_file(options.bench.export_file, render_export(results));
  fmt::print("\nreport: {}\n", (folder / "report.html").string());
  print_where_to_start(rows, options.verify.all);
  if (code == 0)
    for (const std::string& sentence : answer_sentences(summarize(results).answers))
      print(Paragraph{sentence});
  return code;
}

}  // namespace ropewalk::tools
