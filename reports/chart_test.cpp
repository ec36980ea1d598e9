#include "reports/chart.h"

#include <gtest/gtest.h>

#include <limits>

#include "reports/program.h"
#include "reports/render.h"
#include "reports/sample_results.h"

namespace ropewalk {
namespace {

ChartRequest sample_request() {
  ChartRequest request{"chart0", "A <title>", "x", "y", {}};
  request.series.push_back({{0, 1, 2}, {3, 2, 1}, true});
  request.series.push_back({{0, 2}, {3, std::numeric_limits<double>::quiet_NaN()}, false});
  return request;
}

TEST(Chart, FitsIntoAPage) {
  const Chart chart = draw_chart(sample_request());
  ASSERT_EQ(chart.error, "");
  EXPECT_EQ(chart.svg.find("<svg class=\"chart\" role=\"img\" aria-label=\"A &lt;title&gt;\""), 0u);
  EXPECT_EQ(chart.svg.substr(chart.svg.size() - 6), "</svg>");
  EXPECT_NE(chart.svg.find("viewBox="), std::string::npos);
  EXPECT_NE(chart.svg.find("var(--series-0)"), std::string::npos);
  EXPECT_NE(chart.svg.find("var(--series-1)"), std::string::npos);
  EXPECT_NE(chart.svg.find("var(--muted)"), std::string::npos);
  EXPECT_NE(chart.svg.find("id='chart0gp"), std::string::npos);
  for (const char* unwanted : {"<script", "http://www.w3.org/1999/xlink\" href", "rgb(  1", "#0102",
                               "<title>$d", "<!DOCTYPE", "<?xml", "GNUPLOT"})
    EXPECT_EQ(chart.svg.find(unwanted), std::string::npos) << unwanted;
}

TEST(Chart, IsTheSameTwice) {
  EXPECT_EQ(draw_chart(sample_request()).svg, draw_chart(sample_request()).svg);
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

TEST(Chart, WithoutAPointSaysSo) {
  ChartRequest request = sample_request();
  for (ChartSeries& series : request.series)
    series.y.assign(3, std::numeric_limits<double>::infinity());
  EXPECT_EQ(draw_chart(request).error, "there is no finite point to draw");
}

TEST(Chart, WithoutGnuplotSaysSo) {
  EXPECT_EQ(draw_chart(sample_request(), "/nonexistent/gnuplot").error,
            "gnuplot could not be started: No such file or directory");
  EXPECT_EQ(draw_chart(sample_request(), "/bin/false").error, "gnuplot failed with exit code 1");
  EXPECT_EQ(draw_chart(sample_request(), "/bin/true").error, "gnuplot drew no whole picture");
  const std::string page = render_html(sample_results(), "/nonexistent/gnuplot");
  EXPECT_NE(page.find("This chart could not be drawn: gnuplot could not be started"),
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
}  // namespace ropewalk
