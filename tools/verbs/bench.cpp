// Times only kernels that were verified in the same run, and checks them again afterwards.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_file.h"
#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "tools/command/session.h"
#include "tools/command/workload_choice.h"
#include "tools/launches/launches.h"
#include "tools/verbs/failures.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;

namespace {

// A line for each phase, data type and source of angles, then where the kernels of the files stand
// that the user named.
void print_answers(const Results& results, const std::vector<std::string>& files) {
  const Summary summary = summarize(results);
  for (const std::string& sentence : answer_sentences(summary.answers)) print(Paragraph{sentence});
  for (const KernelSummary& kernel : summary.kernels)
    for (const KernelAnswer& answer : summary.answers)
      if (const std::string place = place_text(answer, kernel.name);
          std::ranges::count(files, kernel.plugin) > 0 && !place.empty())
        fmt::print("{} ({}): {}\n", answer.contest->of->workload, answer.angles, place);
}

}  // namespace

int run(const BenchOptions& options) {
  print_what_is_not_timed(options, options.quiet);
  Recorder recorder(options, options.out);
  Results results;
  results.run.margin = options.margin;
  if (!options.export_file.empty()) {
    require_writable(options.export_file);
    results.run = run_row(options);
  }
  const int code = Launches(options, chosen_workloads(options, options.profile))
                       .run(
                           [&](const VerdictRow& row) {
                             recorder.write(row);
                             results.verdicts.push_back(row);
                           },
                           [&](const TimingRow& row) {
                             recorder.write(row);
                             results.timings.push_back(row);
                           });
  recorder.finish(code);
  if (!options.export_file.empty()) {
    results.complete = true;
    results.end.exit_code = final_exit_code(code);
    write_whole_file(options.export_file, render_export(results));
  }
  if (!options.json && !options.quiet) {
    print_answers(results, options.files);
    print_first_failure(results.verdicts);
  }
  return code;
}

}  // namespace ropewalk::tools
