// Compares two builds of one run, or two runs: what became faster, slower or broken.
#include "reports/numbers/compare.h"

#include <fmt/format.h>

#include "base/text_file.h"
#include "reports/pages/render.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;

int run(const CompareOptions& options) {
  const std::string &a = options.files.front(), &b = options.files.back();
  const bool of_builds = options.files.size() == 1;
  const double max_regression = options.max_regression / 100;
  const Comparison comparison =
      of_builds ? compare_builds(read_results(a), a, max_regression)
                : compare_runs(read_results(a), read_results(b), a, b, max_regression);
  const std::string text = markdown_of(comparison_of(comparison));
  if (options.markdown.empty()) {
    fmt::print("{}", text);
  } else {
    write_whole_file(options.markdown, text);
    fmt::print("{}comparison: {}\n", text.substr(0, text.find('\n') + 1), options.markdown);
  }
  const bool passes = options.unresolved.empty() ? of_builds : options.unresolved == "pass";
  const int code = exit_code_of(comparison);
  if (code != 3 || !passes) return code;
  fmt::print(stderr,
             "ropewalk: warning: cannot tell whether a kernel became slower; passed all the "
             "same (--unresolved fail)\n");
  return 0;
}

}  // namespace ropewalk::tools
