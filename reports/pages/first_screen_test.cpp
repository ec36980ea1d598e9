// What a reader sees first: the answers, the map of verification, and the table for a pull request.
#include <gtest/gtest.h>

#include <sstream>

#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"
#include "reports/testing/text.h"

namespace ropewalk::report {
namespace {

/// One kernel that holds, timed once.
Results small_results() {
  Results results;
  results.run = sample_results().run;
  results.verdicts = {sample_verdict()};
  results.timings = {sample_timing()};
  results.complete = true;
  return results;
}

TEST(Answer, StandsBeforeTheRunAndTheKernels) {
  const std::string page = render_html(small_results());
  const std::size_t answer = page.find("<section id=\"answers\">");
  EXPECT_TRUE(contains(page, "<p class=\"answer\">Decode: "));
  EXPECT_LT(page.find("<p class=\"answer\">"), answer);
  EXPECT_LT(answer, page.find("<div class=\"run\" id=\"run\">"));
  EXPECT_LT(answer, page.find("<table class=\"matrix map\">"));
  EXPECT_TRUE(contains(page, "<details class=\"fold card\">")) << "the run is folded";
  Results untimed = small_results();
  untimed.timings.clear();
  EXPECT_TRUE(contains(render_html(untimed), "<details class=\"fold card\" open>"));
}

TEST(Export, IsALineAndATable) {
  Results results = small_results();
  results.run.environment["git_revision"] = "abc123";
  std::istringstream lines(render_export(results));
  std::string head, empty, columns, rule, row, after;
  for (std::string* line : {&head, &empty, &columns, &rule, &row, &after})
    std::getline(lines, *line);
  EXPECT_TRUE(head.starts_with("✓ 1 kernel verified: ")) << head;
  EXPECT_TRUE(contains(head, "revision `abc123`, `")) << head;
  EXPECT_TRUE(contains(row, "| `llama-3-8b/decode-1` | ")) << row;
  EXPECT_EQ(count(row, "|"), count(columns, "|"));
  EXPECT_EQ(after, "");
}

TEST(Export, IsInert) {
  Results results = small_results();
  const std::string hostile = "<script>|`]](http://evil.test)\n# x";
  results.run.command = results.run.environment["cpu_model"] = hostile;
  results.verdicts[0].kernel = results.timings[0].kernel = hostile;
  results.timings[0].workload += hostile;
  results.timings[0].board += hostile;
  std::istringstream lines(render_export(results));
  std::size_t count_of_lines = 0;
  for (std::string line; std::getline(lines, line); ++count_of_lines) {
    EXPECT_FALSE(contains(line, "<script")) << line;
    EXPECT_FALSE(contains(line, "](http")) << line;
  }
  EXPECT_EQ(count_of_lines, 5u);
}

TEST(Matrix, TheMapHasAShapeACellAndWordsForTheClosest) {
  Results results = small_results();
  const std::string page = render_html(results);
  const std::size_t map = page.find("<table class=\"matrix map\">");
  const std::string first = page.substr(map, page.find("</table>", map) - map);
  EXPECT_EQ(count(first, "<td class=\"good"), 1u);
  EXPECT_TRUE(contains(first, ">○<") || contains(first, ">◐<") || contains(first, ">●<")) << first;
  EXPECT_TRUE(contains(page, "✓ closest</span> <b>plain</b> agreement of half_split f32: "));
  results.verdicts[0].verdict = Verdict::fail;
  results.verdicts[0].margin = 12;
  EXPECT_TRUE(contains(render_html(results), "</a> <b>plain</b> agreement of half_split f32: 12"));
}

}  // namespace
}  // namespace ropewalk::report
