// Makes reports from results and checks a report. Also makes tables inside a document, and a
// history of runs.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/whole_file.h"
#include "reports/check/check.h"
#include "reports/pages/history.h"
#include "reports/pages/render.h"
#include "reports/pages/splice.h"
#include "reports/pages/write_report.h"
#include "tools/command/lock.h"
#include "tools/command/results_input.h"
#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
namespace {

int check(const ReportOptions& options) {
  std::optional<Results> results;
  if (!options.results_file.empty()) results = read_results_or_page(options.results_file);
  const PageCheck found = check_page(whole_file(options.check), options.check, results);
  fmt::print("{}\n", found.text);
  if (!found.holds) return 1;
  return found.in_full ? 0 : 3;
}

/// Adds this run to the history and writes it back. Empty without --history.
std::string grown_history(const ReportOptions& options, const Results& results) {
  if (options.history.empty()) return {};
  const Lock lock(options.history);  // two runs that are added at once wait for each other
  const std::string before =
      std::filesystem::exists(options.history) ? whole_file(options.history) : std::string();
  const std::string after = history_with(before, results, options.history);
  if (after != before) write_whole_file(options.history, after);
  return after;
}

}  // namespace

int run(const ReportOptions& options) {
  if (!options.check.empty()) return check(options);
  const Results results = read_results_or_page(options.results_file);
  if (!options.splice.empty()) {
    const std::string before = whole_file(options.splice);
    const std::string after = spliced(before, options.splice, results);
    if (after != before) write_whole_file(options.splice, after);
    fmt::print("tables: {}\n", options.splice);
    return 0;
  }
  const std::filesystem::path folder =
      options.out.empty() ? std::filesystem::path(options.results_file).parent_path()
                          : std::filesystem::path(options.out);
  write_report(results, folder.empty() ? "." : folder, grown_history(options, results));
  fmt::print("report: {}\n", (folder / "report.html").string());
  return 0;
}

}  // namespace ropewalk::tools
