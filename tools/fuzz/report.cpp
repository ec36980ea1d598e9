// Every report of a results file that can be read is clean text, whatever its rows hold.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "reports/check/check.h"
#include "reports/pages/render.h"
#include "tools/fuzz/memory_file.h"

namespace ropewalk::fuzz {
using namespace report;

void run(std::string_view text) {
  const auto read = unless_refused<BadFile>([&] { return results_of(text); });
  if (!read) return;
  const Results& results = *read;
  // "/" is not a program. The charts say so, which saves a second for each input.
  const std::array reports = {render_markdown(results), render_html(results, "/"),
                              render_csv(results), render_junit(results)};
  for (const std::string& report : reports)
    claim(clean_text(report) == report, "a report is clean UTF-8");
  std::size_t scripts = 0;
  for (std::size_t at = 0; (at = reports[1].find("<script", at)) != std::string::npos; ++at)
    ++scripts;
  claim(scripts == 3, "a page has no scripts but ours");
  claim(check_page(reports[1], "page", std::nullopt, "/").holds, "a page is what its rows make");
  const auto rows = 1 + std::ssize(results.verdicts);
  claim(std::count(reports[2].begin(), reports[2].end(), '\n') >= rows, "a line for each verdict");
}

}  // namespace ropewalk::fuzz
