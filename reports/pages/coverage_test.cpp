// What the covering array met, and what the kernel refuses, stand on every page and in every file.
#include <gtest/gtest.h>

#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

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

TEST(CoverageShown, OnceForAllCellsThatShareIt) {
  const Results results =
      results_of({row_of("f32", "tokens 1"), row_of("f64", "tokens 1"), row_of("bf16", "")});
  const std::string page = html_of(results), text = markdown_of(results);
  EXPECT_TRUE(contains(page, "mine <small>half_split f32, half_split f64</small>")) << page;
  EXPECT_TRUE(
      contains(page, ">covered 99.9 % of 2-way &lt;b&gt;<td data-label=\"not offered\">tokens 1"));
  EXPECT_TRUE(contains(page, "<small>half_split bf16</small>"));
  EXPECT_TRUE(contains(text, "In report.html alone: ")) << text;
  for (const std::string& none : {html_of(sample_results()), markdown_of(sample_results())})
    EXPECT_FALSE(contains(none, "What the cases met"));
}

TEST(CoverageShown, InTheFilesForOtherPrograms) {
  const Results results = results_of({row_of("f32", "tokens 1")});
  EXPECT_TRUE(contains(junit_of(results),
                       "<system-out>covered 99.9 % of 2-way &lt;b&gt;; not offered: tokens 1<"))
      << junit_of(results);
  EXPECT_TRUE(contains(csv_of(results), ",covered 99.9 % of 2-way <b>,tokens 1,"))
      << csv_of(results);
}

}  // namespace
}  // namespace ropewalk::report
