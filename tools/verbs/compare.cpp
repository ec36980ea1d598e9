// Compares two runs: what became faster, slower or broken.
#include "reports/numbers/compare.h"

#include <fmt/format.h>

#include "base/whole_file.h"
#include "reports/pages/compare_markdown.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;

int run(const CompareOptions& options) {
  const std::string &a = options.files.at(0), &b = options.files.at(1);
  const Comparison comparison =
      compare_runs(read_results(a), read_results(b), a, b, options.max_regression / 100);
  const std::string text = comparison_markdown(comparison, a, b);
  if (options.markdown.empty()) {
    fmt::print("{}", text);
  } else {
    write_whole_file(options.markdown, text);
    fmt::print("{}comparison: {}\n", text.substr(0, text.find('\n') + 1), options.markdown);
  }
  return exit_code_of(comparison);
}

}  // namespace ropewalk::tools
