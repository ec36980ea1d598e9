// What a reader sees first: the answers, the map of verification, and the table for a pull request.
#include <gtest/gtest.h>

#include <sstream>

#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

/// One kernel that holds, timed once.
Results small_results() {
  return results_of({sample_verdict()}, {sample_timing()});
}

TEST(Answer, StandsBeforeTheRunAndTheKernels) {
  const std::string page = html_of(small_results());
  const std::size_t answer = page.find("<section id=\"answers\">");
  const std::size_t lines = page.find("<table class=\"lines\">");
  EXPECT_TRUE(contains(page, "<th scope=\"row\">decode, f32"));
  EXPECT_LT(lines, answer);
  EXPECT_LT(answer, page.find("<div id=\"run\">"));
  EXPECT_LT(answer, page.find("<table class=\"matrix map sortable\">"));
  EXPECT_TRUE(contains(page, "<details class=\"fold card\">")) << "the run is folded";
  Results untimed = small_results();
  untimed.timings.clear();
  EXPECT_TRUE(contains(html_of(untimed), "<section id=\"run\" class=\"card\">"));
}

TEST(Failures, OfOneCauseShareAPlace) {
  std::vector<VerdictRow> rows;
  for (const char* property : {"agreement", "norm", "decay"}) {
    VerdictRow row = sample_verdict();
    row.verdict = Verdict::fail;
    row.property = property;
    row.error = "1.7e+00 of |x|, allowed 1.3e-07";
    row.same_cause = row.property == "norm" ? "agreement " + row.pairing + " " + row.dtype : "";
    rows.push_back(row);
  }
  const std::string page = html_of(results_of(rows, {}));
  EXPECT_EQ(count(page, "<details class=\"card failure\""), 2u);
  EXPECT_EQ(count(page, "1 more of the same cause"), 1u);
  EXPECT_EQ(count(page, "<dd>1.7e+00 of |x|, allowed 1.3e-07</dd>"), 3u);
}

TEST(Export, IsALineAndATable) {
  Results results = small_results();
  results.run.environment["git_revision"] = "abc123";
  std::istringstream lines(render_export(results));
  std::string title, empty, run, use, columns, rule, row;
  for (std::string* line : {&title, &empty, &run, &empty, &use, &empty, &columns, &rule, &row})
    std::getline(lines, *line);
  EXPECT_EQ(title, "# ✓ 1 kernel verified");
  EXPECT_TRUE(contains(run, "revision abc123, `")) << run;
  EXPECT_TRUE(contains(row, "| llama-3-8b/decode-1 (half_split / f32 / in place) | ")) << row;
  EXPECT_EQ(count(row, "|"), count(columns, "|"));
}

TEST(Matrix, TheMapHasAShapeACell) {
  const std::string page = html_of(small_results());
  const std::size_t map = page.find("<table class=\"matrix map sortable\">");
  const std::string first = page.substr(map, page.find("</table>", map) - map);
  EXPECT_EQ(count(first, "<td class=\"good"), 1u);
  EXPECT_TRUE(contains(first, ">○ ") || contains(first, ">◐ ") || contains(first, ">● ")) << first;
}

}  // namespace
}  // namespace ropewalk::report
