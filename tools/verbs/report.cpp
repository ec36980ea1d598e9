// Makes reports from results.
#include <fmt/format.h>

#include <filesystem>

#include "base/text_file.h"
#include "reports/pages/render.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
int run(const ReportOptions& options) {
  const Results results = read_results(options.results_file);
  const std::filesystem::path folder =
      options.out.empty() ? std::filesystem::path(options.results_file).parent_path()
                          : std::filesystem::path(options.out);
  write_report(results, folder.empty() ? "." : folder);
  if (!options.export_file.empty()) write_whole_file(options.export_file, render_export(results));
  fmt::print("report: {}\n", (folder / "report.html").string());
  return 0;
}

}  // namespace ropewalk::tools
