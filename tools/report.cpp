#include <fmt/format.h>

#include <filesystem>

#include "reports/render.h"
#include "tools/session.h"
#include "tools/verbs.h"

namespace ropewalk {

int run_report(const Options& options) {
  const Results results = read_results(options.results_file);
  const std::filesystem::path folder =
      options.out.empty() ? std::filesystem::path(options.results_file).parent_path()
                          : std::filesystem::path(options.out);
  write_report(results, folder.empty() ? "." : folder);
  fmt::print("report: {}\n", (folder / "report.html").string());
  return 0;
}

}  // namespace ropewalk
