#include "reports/figures/figure.h"

#include <gtest/gtest.h>

#include <limits>

#include <algorithm>
#include <map>
#include <set>

#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

const Chart& named(const std::vector<Chart>& figures, std::string_view title) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&title](const Chart& each) { return each.title == title; });
  if (found == figures.end()) throw std::out_of_range("no figure " + std::string(title));
  return *found;
}

std::vector<std::string> legend_names(const Chart& figure) {
  std::vector<std::string> names;
  for (const LegendEntry& each : legend_of(figure)) names.push_back(each.name);
  return names;
}

CurveRow error_curve(const std::string& kernel, const std::string& contract, double error) {
  return {"error_over_position", kernel, "contract " + contract, {0, 1}, {0, error}};
}

TEST(Caches, AreReadFromTheEnvironment) {
  const auto caches = caches_of(
      "L1d 48 KiB (cpus 0,2-3), L1i 32 KiB (cpus 0), L2 2048 KiB (cpus 0), L3 105 MiB (cpus 0-1)");
  ASSERT_EQ(caches.size(), 3u);
  EXPECT_EQ(caches[0].name, "L1d");
  EXPECT_EQ(caches[0].bytes, 48 * 1024);
  EXPECT_EQ(caches[1].bytes, 2048 * 1024);
  EXPECT_EQ(caches[2].bytes, 105 * 1024 * 1024);
  for (const char* useless : {"", "unknown", "L1d", "L1d ", "L1d x KiB", "L2 99999999999999999999",
                              "L2 -4 KiB", "L1i 32 KiB", "XL2 1 KiB", "L2 8"})
    EXPECT_TRUE(caches_of(useless).empty()) << useless;
}

TEST(ErrorOverPosition, ShowsEveryContractFirstAndSharesWhatIsEqual) {
  Results results;
  for (int i = 0; i < 9; ++i)
    results.curves.push_back(error_curve("table_" + std::to_string(i), "table", 1e-7 + i * 1e-8));
  results.curves.push_back(error_curve("twin", "table", 1e-7));
  results.curves.push_back(error_curve("phase", "exact", 1e-7));
  results.curves.push_back(error_curve("angle", "f32_angle", 1e-3));
  const auto figures = curve_charts(results, {});
  const Chart& figure = named(figures, "Error over the position");
  const auto names = legend_names(figure);
  ASSERT_EQ(names.size(), chart_series_max);
  EXPECT_EQ(names[0], "table_0, twin");
  EXPECT_EQ(names[1], "phase") << "another contract is another curve, though the numbers are equal";
  EXPECT_EQ(names[2], "angle");
  EXPECT_EQ(figure.absent, (std::vector<std::string>{"table_6", "table_7", "table_8"}));
  EXPECT_EQ(figure.table.columns.size(), 12u) << "the table has them all";
}

TEST(ErrorOverPosition, DrawsZeroAtItsFloor) {
  Results results;
  results.curves.push_back(error_curve("plain", "table", 6e-8));
  const auto figures = curve_charts(results, {});
  const Chart& figure = named(figures, "Error over the position");
  EXPECT_EQ(figure.series.at(0).y, (std::vector<double>{1e-9, 6e-8}));
  EXPECT_EQ(figure.table.lines.at(0), (std::vector<std::string>{"0", "0"}));
}

TEST(Curves, OfTheSameSeriesAndNoteTheLastCounts) {
  Results results;
  results.curves.push_back(error_curve("plain", "table", 1));
  results.curves.push_back(error_curve("plain", "table", 6e-8));
  const auto figures = curve_charts(results, {});
  EXPECT_EQ(named(figures, "Error over the position").table.lines.at(1).at(1), "6e-08");
}

TEST(Curves, OfAnyDistanceHaveFewTicks) {
  for (const double x : {1e19, 1e308, std::numeric_limits<double>::infinity()}) {
    Results results;
    results.curves.push_back({"decay", "reference", "", {-x, 0, 2000, x}, {1, 1, 1, 1}});
    const Picture picture = draw_chart(curve_charts(results, {}).at(0));
    EXPECT_EQ(picture.error, "");
    EXPECT_LT(count(picture.svg, "<text>"), 30u) << x;
  }
}

// The rows have the form that properties/observe/curves.cpp writes.
TEST(Trade, TakesTheErrorsThatRunsMeasure) {
  Results results = sample_results();
  EXPECT_TRUE(trade_charts(results, summarize(results), {}).empty()) << "all at one height";
  for (CurveRow& row : results.curves)
    if (row.series == "plain")
      for (double& y : row.y) y *= 4;
  const auto figures = trade_charts(results, summarize(results), {});
  ASSERT_FALSE(figures.empty());
  EXPECT_GE(figures.front().table.lines.size(), 4u);
  for (CurveRow& row : results.curves)
    if (row.dtype == "f32") row.dtype = "f64";
  EXPECT_TRUE(trade_charts(results, summarize(results), {}).empty()) << "of another type";
}

// In every figure, whatever stands beside it there.
TEST(KernelColours, AreOneAKernelAndGreyForTheBaseline) {
  const Results results = sample_results();
  const Summary summary = summarize(results);
  const KernelColours colours(results, summary);
  std::map<std::string, std::set<std::string>> classes;
  for (const auto& figures :
       {working_set_charts(results, summary, colours), trade_charts(results, summary, colours)})
    for (const Chart& figure : figures)
      for (const LegendEntry& each : legend_of(figure)) classes[each.name].insert(each.css_class);
  EXPECT_EQ(classes.at("plain"), std::set<std::string>{"mark"});
  std::set<std::string> seen;
  for (const char* kernel : {"elementwise", "phase", "dense"}) {
    EXPECT_EQ(classes.at(kernel).size(), 1u) << kernel;
    EXPECT_TRUE(seen.insert(*classes.at(kernel).begin()).second) << kernel;
  }
  EXPECT_EQ(colours.of("plain (twin)").colour, grey);
  EXPECT_EQ(legend_of(curve_charts(results, colours).at(1)).at(0).css_class, "mark");  // reference
  for (const Chart& forest : forest_charts(summary, colours))
    for (const Series& series : forest.series)
      EXPECT_LT(series.style.colour, static_cast<int>(series_colours.size()));
}

TEST(WorkingSet, HasTheCeilingTheKernelsAndTheCaches) {
  const Results results = sample_results();
  const Summary summary = summarize(results);
  const auto figures = working_set_charts(results, summary, {});
  ASSERT_EQ(figures.size(), 2u);
  const Chart& figure = figures[0];
  EXPECT_EQ(figure.name, "llama-3-8b, half_split / f32 / in place");
  EXPECT_EQ(legend_names(figure), (std::vector<std::string>{"ceiling", "plain", "elementwise",
                                                            "phase", "dense", "caches"}));
  EXPECT_EQ(figure.absent, (std::vector<std::string>{"wrong_way: BROKEN"}));
  const Series& band = figure.series.at(0);
  ASSERT_EQ(band.draw, Draw::band);
  ASSERT_EQ(band.x.size(), 4u);
  EXPECT_TRUE(std::is_sorted(band.x.begin(), band.x.end()));
  for (std::size_t i = 0; i < band.x.size(); ++i) {
    EXPECT_LE(band.low[i], band.y[i]);
    EXPECT_LE(band.y[i], band.high[i]);
  }
  // 86 ns a token, 40960 bytes: the slowest repetition took 1.043 times as long.
  EXPECT_NEAR(band.y[0], 40960 / 86.0, 2);
  const Series& caches = figure.series.back();
  ASSERT_EQ(caches.x.size(), 3u);
  EXPECT_EQ(caches.x[1], 1024 * 1024);
  EXPECT_EQ(figure.table.lines.size(), 4u);
  EXPECT_EQ(figure.table.columns.size(), 6u);
}

TEST(WorkingSet, SaysWhoIsLeftOut) {
  Results results = sample_results();
  std::vector<TimingRow> more;
  for (const TimingRow& row : results.timings)
    for (int i = 0; row.kernel == "plain" && i < 8; ++i) {
      more.push_back(row);
      more.back().kernel = "slow_" + std::to_string(i);
      more.back().gb_per_s_median /= 10 + i;
      for (double& ns : more.back().ns_per_token) ns *= 10 + i;
    }
  results.timings.insert(results.timings.end(), more.begin(), more.end());
  for (int i = 0; i < 8; ++i) {
    for (const char* pairing : {"half_split", "interleaved"}) {
      results.verdicts.push_back(sample_verdict());
      results.verdicts.back().kernel = "slow_" + std::to_string(i);
      results.verdicts.back().pairing = pairing;
    }
  }
  const Summary summary = summarize(results);
  const auto figures = working_set_charts(results, summary, {});
  const Chart& figure = figures.at(0);
  EXPECT_EQ(figure.series.size(), 1 + chart_series_max + 1) << "with the ceiling and caches";
  EXPECT_EQ(figure.table.columns.size(), 2u + 12u);
  EXPECT_EQ(figure.absent.size(), 4u + 1u);
  EXPECT_EQ(figure.absent.at(0).find("slow_"), 0u);
}

TEST(WorkingSet, OneSizeIsNoPicture) {
  Results results = sample_results();
  for (TimingRow& row : results.timings)
    if (row.workload != "llama-3-8b/set-16") row.phase = "prefill";
  const Summary summary = summarize(results);
  EXPECT_TRUE(working_set_charts(results, summary, {}).empty());
}

}  // namespace
}  // namespace ropewalk::report
