// What the covering array met, and what the kernel refuses, stand on every page and in every file.
#include <gtest/gtest.h>

#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"
#include "reports/testing/text.h"

namespace ropewalk::report {
namespace {

VerdictRow row_of(const std::string& dtype, const std::string& not_offered) {
  VerdictRow row = sample_verdict();
  row.kernel = "mine";
  row.judged_on = "native";
  row.pairing = "half_split";
  row.dtype = dtype;
  row.coverage = "covered 99.9 % of 2-way <b>";
  row.not_offered = not_offered;
  return row;
}

Results results_of(std::vector<VerdictRow> rows) {
  Results results;
  results.run = sample_results().run;
  results.verdicts = std::move(rows);
  results.complete = true;
  return results;
}

TEST(CoverageShown, OnceForAllCellsThatShareIt) {
  const Results results =
      results_of({row_of("f32", "tokens 1"), row_of("f64", "tokens 1"), row_of("bf16", "")});
  const std::string page = render_html(results), text = render_markdown(results);
  EXPECT_TRUE(contains(page,
                       "<th scope=\"row\">mine<span class=\"sub\">half_split f32, half_split "
                       "f64</span></th><td>covered 99.9 % of 2-way &lt;b&gt;</td><td>tokens "
                       "1</td>"))
      << page;
  EXPECT_TRUE(contains(page, "<span class=\"sub\">half_split bf16</span></th>"));
  EXPECT_TRUE(contains(text, "### What the cases met")) << text;
  EXPECT_TRUE(contains(text, "| `half_split f32, half_split f64` |")) << text;
}

TEST(CoverageShown, InTheFilesForOtherPrograms) {
  const Results results = results_of({row_of("f32", "tokens 1")});
  EXPECT_TRUE(contains(render_junit(results),
                       "<system-out>covered 99.9 % of 2-way &lt;b&gt;\nnot offered: tokens 1\n"))
      << render_junit(results);
  EXPECT_TRUE(contains(render_csv(results), ",covered 99.9 % of 2-way <b>,tokens 1\n"))
      << render_csv(results);
}

// Kernels that failed have none.
TEST(CoverageShown, NothingWhereThereIsNone) {
  VerdictRow row = row_of("f32", "");
  row.coverage.clear();
  const Results results = results_of({row});
  EXPECT_FALSE(contains(render_html(results), "What the cases met"));
  EXPECT_FALSE(contains(render_markdown(results), "What the cases met"));
  EXPECT_FALSE(contains(render_junit(results), "system-out"));
}

}  // namespace
}  // namespace ropewalk::report
