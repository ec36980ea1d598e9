#include "reports/pages/history.h"

#include <gtest/gtest.h>

#include "reports/check/check.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

Results run_at(const std::string& started_at, double slowdown) {
  Results results = sample_results();
  results.run.started_at = started_at;
  results.run.environment["memory_total"] = "7800 MiB";
  for (TimingRow& row : results.timings)
    if (row.kernel == "elementwise")
      for (double& ns : row.ns_per_token) ns *= slowdown;
  return results;
}

std::string two_runs() {
  const std::string first = history_with("", run_at("2026-01-01", 1), "history.jsonl");
  return history_with(first, run_at("2026-01-02", 1.25), "history.jsonl");
}

TEST(History, GrowsByEachRunOnce) {
  const std::string one = history_with("", run_at("2026-01-01", 1), "h");
  EXPECT_EQ(history_with(one, run_at("2026-01-01", 1), "h"), one) << "the same run";
  const std::string two = two_runs();
  EXPECT_EQ(two.rfind(one, 0), 0u) << "what was there stays as it was";
  EXPECT_GT(two.size(), one.size());
  EXPECT_TRUE(trend_figures(one).empty()) << "one run is no trend";
}

TEST(History, ShowsWhatBecameSlower) {
  const auto figures = trend_figures(two_runs());
  ASSERT_EQ(figures.size(), 4u);
  const FigureTable& table = figures.back().table;  // interleaved, table
  ASSERT_EQ(table.lines.size(), 2u);
  ASSERT_EQ(table.columns, (std::vector<std::string>{"run", "dense", "elementwise", "plain"}));
  EXPECT_EQ(table.lines[0][2], "1.000");
  EXPECT_EQ(table.lines[1][2], "1.250");
  EXPECT_EQ(table.lines[1][3], "1.000") << "and nothing else did";
}

TEST(History, IsOfOneMachineClassAndOfWholeRuns) {
  const std::string one = history_with("", run_at("2026-01-01", 1), "h");
  Results other = run_at("2026-01-02", 1);
  other.run.environment["cpu_model"] = "another";
  EXPECT_THROW(history_with(one, other, "h"), BadFile);
  Results cut = run_at("2026-01-02", 1);
  cut.complete = false;
  EXPECT_THROW(history_with(one, cut, "h"), BadFile);
  EXPECT_THROW(history_with("no history\n", run_at("2026-01-02", 1), "h"), BadFile);
  EXPECT_THROW(history_with(one.substr(0, 99), run_at("2026-01-02", 1), "h"), BadFile);
}

TEST(History, IsPartOfThePageAndOfItsCheck) {
  const Results results = run_at("2026-01-02", 1.25);
  std::string page = render_html(results, "/", two_runs());
  EXPECT_NE(page.find("Speed over the runs"), std::string::npos);
  EXPECT_NE(render_markdown(results, two_runs()).find("Speed over the runs"), std::string::npos);
  EXPECT_TRUE(check_page(page, "page", std::nullopt, "/").holds);
  const std::size_t at = page.find(">1.250<");
  ASSERT_NE(at, std::string::npos);
  page[at + 4] = '4';
  EXPECT_FALSE(check_page(page, "page", std::nullopt, "/").holds);
}

}  // namespace
}  // namespace ropewalk::report
