#include "reports/figures/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/system/program.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

ChartRequest sample_request() {
  ChartRequest request;
  request.id = "chart0";
  request.title = "A <title>";
  request.x_label = "x";
  request.y_label = "y";
  request.series.push_back({{0, 1, 2}, {3, 2, 1}, Draw::line, {}, {}, {0, 0}});
  request.series.push_back(
      {.x = {0, 2}, .y = {3, std::numeric_limits<double>::quiet_NaN()}, .style = {1, 1}});
  return request;
}

// A whole document: the colours of both schemes, a background, and a legend with its names escaped.
TEST(Chart, IsAFileOfItsOwn) {
  const std::string svg = picture_file(sample_request(), narrow_chart, {"a < b", "second"});
  EXPECT_EQ(svg, picture_file(sample_request(), narrow_chart, {"a < b", "second"}));
  for (const char* wanted : {"xmlns=\"http://www.w3.org/2000/svg\"", "prefers-color-scheme: dark",
                             "--series-1: ", "fill=\"var(--card)\"", "a &lt; b</text>",
                             "second</text>", "viewBox=\"0 0 312 385\""})
    EXPECT_NE(svg.find(wanted), std::string::npos) << wanted;
  EXPECT_THROW(picture_file({}, narrow_chart, {}), std::runtime_error);
}

TEST(Chart, FitsIntoAPage) {
  const Chart chart = draw_chart(sample_request());
  ASSERT_EQ(chart.error, "");
  EXPECT_EQ(chart.svg.find("<svg class=\"chart wide\" role=\"img\" aria-label=\"A &lt;title&gt;\""),
            0u);
  EXPECT_EQ(chart.svg.substr(chart.svg.size() - 6), "</svg>");
  EXPECT_NE(chart.svg.find("viewBox="), std::string::npos);
  EXPECT_NE(chart.svg.find("var(--series-0)"), std::string::npos);
  EXPECT_NE(chart.svg.find("var(--series-1)"), std::string::npos);
  EXPECT_NE(chart.svg.find("var(--muted)"), std::string::npos);
  EXPECT_NE(chart.svg.find("id='chart0widegp"), std::string::npos);
  for (const char* unwanted : {"<script", "http://www.w3.org/1999/xlink\" href", "rgb(  1", "#0102",
                               "<title>$d", "<!DOCTYPE", "<?xml", "GNUPLOT"})
    EXPECT_EQ(chart.svg.find(unwanted), std::string::npos) << unwanted;
}

TEST(Chart, StaysSmallWithManyPoints) {
  ChartRequest request = sample_request();
  for (ChartSeries& series : request.series) {
    series.x.clear();
    series.y.clear();
    for (int i = 0; i < 200000; ++i) {
      series.x.push_back(i);
      series.y.push_back(i % 97);
    }
  }
  const Chart chart = draw_chart(request);
  EXPECT_EQ(chart.error, "");
  EXPECT_LT(chart.svg.size(), 60000u);
}

/// Counts a text that gnuplot writes beside the axes and marks.
std::size_t count_texts(const std::string& svg, const std::string& text) {
  std::size_t times = 0;
  for (std::size_t at = 0; (at = svg.find(">" + text + "<", at)) != std::string::npos; ++at)
    ++times;
  return times;
}

TEST(Chart, HasTicksMarksAndABand) {
  ChartRequest request = sample_request();
  request.x_scale = request.y_scale = Scale::logarithmic;
  request.x_ticks = {{1, "one"}, {2, "two"}, {4, "four"}};
  request.x_marks = {{2, "L2"}};
  request.series = {{{1, 4}, {3, 30}, Draw::joined}};
  request.band = {{1, 4}, {40, 50}, {45, 60}, {50, 70}};
  const Chart chart = draw_chart(request);
  ASSERT_EQ(chart.error, "");
  for (const char* text : {"one", "two", "four", "L2", " 2", " 100"})
    EXPECT_EQ(count_texts(chart.svg, text), 1u) << text;
  EXPECT_NE(chart.svg.find("var(--hatch)"), std::string::npos);
  request.band = {};
  EXPECT_EQ(draw_chart(request).svg.find("var(--hatch)"), std::string::npos);
}

TEST(Chart, ThinsItsTicksWhereItIsNarrow) {
  ChartRequest request = sample_request();
  request.x_scale = Scale::logarithmic;
  for (const int i : {1, 2, 3, 4, 5, 6, 7, 8})
    request.x_ticks.push_back({std::exp2(i), "tick " + std::to_string(i)});
  request.series = {{{2, 256}, {1, 2}, Draw::joined}};
  EXPECT_EQ(count_texts(draw_chart(request).svg, "tick 2"), 1u);
  const Chart narrow = draw_chart(request, narrow_chart);
  EXPECT_EQ(narrow.svg.find("<svg class=\"chart narrow\""), 0u);
  EXPECT_EQ(count_texts(narrow.svg, "tick 1"), 1u);
  EXPECT_EQ(count_texts(narrow.svg, "tick 2"), 0u);
}

TEST(Chart, AFloorMakesPowersOfTen) {
  ChartRequest request = sample_request();
  request.y_floor = 1e-9;
  request.series = {{{1, 2}, {1e-9, 1e-3}, Draw::joined}};
  const std::string svg = draw_chart(request).svg;
  EXPECT_NE(svg.find("-8"), std::string::npos);
  EXPECT_EQ(count_texts(svg, "0.001"), 0u);
}

TEST(Chart, WithoutAPointSaysSo) {
  ChartRequest request = sample_request();
  for (ChartSeries& series : request.series)
    series.y.assign(3, std::numeric_limits<double>::infinity());
  EXPECT_EQ(draw_chart(request).error, "there is no finite point to draw");
}

TEST(Chart, WithoutGnuplotSaysSo) {
  EXPECT_EQ(draw_chart(sample_request(), wide_chart, "/nonexistent/gnuplot").error,
            "gnuplot is not installed");
  EXPECT_EQ(draw_chart(sample_request(), wide_chart, "/bin/false").error,
            "gnuplot failed with exit code 1");
  EXPECT_EQ(draw_chart(sample_request(), wide_chart, "/bin/true").error,
            "gnuplot drew no whole picture");
  const std::string page = html_of(sample_results(), "/nonexistent/gnuplot");
  EXPECT_NE(page.find("This chart could not be drawn: gnuplot is not installed. Its numbers"),
            std::string::npos);
  EXPECT_NE(page.find("<h2>Environment</h2>"), std::string::npos);
}

TEST(RunProgram, PassesInputAndOutput) {
  const std::string input(300'000, 'x');
  const ProgramOutput output = run_program({"/bin/cat"}, input);
  EXPECT_EQ(output.error, "");
  EXPECT_EQ(output.text, input);
}

TEST(RunProgram, ReportsWhatWentWrong) {
  EXPECT_EQ(run_program({"/bin/sh"}, "echo bad news >&2; exit 3").error,
            "failed with exit code 3: bad news");
  EXPECT_EQ(run_program({"/bin/sh"}, "kill -SEGV $$").error, "was ended by signal 11");
  EXPECT_EQ(run_program({"/bin/sh"}, "exec cat /dev/zero").error, "wrote more than 8 MB");
}

TEST(RunProgram, DoesNotWaitForEver) {
  EXPECT_EQ(run_program({"/bin/sh"}, "exec sleep 60", std::chrono::milliseconds(100)).error,
            "took too long and was stopped");
}

}  // namespace
}  // namespace ropewalk::report
