// Makes reports from results and checks a report.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "reports/check/check.h"
#include "reports/pages/render.h"
#include "reports/pages/write_report.h"
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

}  // namespace

int run(const ReportOptions& options) {
  if (!options.check.empty()) return check(options);
  const Results results = read_results_or_page(options.results_file);
  const std::filesystem::path folder =
      options.out.empty() ? std::filesystem::path(options.results_file).parent_path()
                          : std::filesystem::path(options.out);
  write_report(results, folder.empty() ? "." : folder);
  fmt::print("report: {}\n", (folder / "report.html").string());
  return 0;
}

}  // namespace ropewalk::tools
