// Compares two builds of one run, or two runs: what became faster, slower or broken.
#include "reports/numbers/compare.h"

#include <fmt/format.h>

#include "base/text_file.h"
#include "reports/numbers/compare_builds.h"
#include "reports/pages/render.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
namespace {

/// Prints the comparison, or writes it to the file and prints its first line.
void show(const std::string& text, const std::string& markdown) {
  if (markdown.empty()) {
    fmt::print("{}", text);
  } else {
    write_whole_file(markdown, text);
    fmt::print("{}comparison: {}\n", text.substr(0, text.find('\n') + 1), markdown);
  }
}

}  // namespace

int run(const CompareOptions& options) {
  const std::string& a = options.files.front();
  const double max_regression = options.max_regression / 100;
  int code = 0;
  if (options.files.size() == 1) {
    const BuildComparison builds = compare_builds(read_results(a), a, max_regression);
    show(builds_markdown(builds, a), options.markdown);
    code = exit_code_of(builds);
  } else {
    const std::string& b = options.files.back();
    const Comparison runs = compare_runs(read_results(a), read_results(b), a, b, max_regression);
    show(comparison_markdown(runs, a, b), options.markdown);
    code = exit_code_of(runs);
  }
  const bool passes =
      options.unresolved.empty() ? options.files.size() == 1 : options.unresolved == "pass";
  if (code != 3 || !passes) return code;
  fmt::print(stderr,
             "ropewalk: warning: cannot tell whether a kernel became slower; passed all the "
             "same (--unresolved fail)\n");
  return 0;
}

}  // namespace ropewalk::tools
