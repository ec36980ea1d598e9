#include "reports/figures/chart.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "base/system/program.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

Chart sample_chart() {
  return {
      .title = "A <title>",
      .x = {"x"},
      .y = {"y"},
      .series = {
          {.name = "a < b", .draw = Draw::line, .style = {0, 0}, .x = {0, 1, 2}, .y = {3, 2, 1}},
          {.name = "second",
           .style = {1, 1},
           .x = {0, 2},
           .y = {3, std::numeric_limits<double>::quiet_NaN()}}}};
}

// A whole document: a background, the dark scheme, and a legend with its names escaped.
TEST(Chart, IsAFileOfItsOwn) {
  const std::string svg = picture_file(sample_chart());
  EXPECT_EQ(svg, picture_file(sample_chart()));
  for (const char* wanted :
       {"xmlns=\"http://www.w3.org/2000/svg\"", "prefers-color-scheme: dark", "fill=\"#ffffff\"",
        "<title>A &lt;title&gt;</title>", "<tspan fill=\"#1f5fa8\">━</tspan> a &lt; b</text>",
        "<tspan fill=\"#b8520a\">□</tspan> second</text>", "viewBox=\"0 0 420 375\""})
    EXPECT_NE(svg.find(wanted), std::string::npos) << wanted << "\n" << svg;
  EXPECT_THROW(picture_file({}), std::runtime_error);
}

TEST(Chart, FitsIntoAPage) {
  const Chart chart = sample_chart();
  const Picture picture = draw_chart(chart);
  ASSERT_EQ(picture.error, "");
  const std::string element = image_element(chart, picture);
  EXPECT_EQ(element.find("<img class=\"chart\" alt=\"A &lt;title&gt;\" src=\"data:image/svg+xml,"),
            0u);
  EXPECT_EQ(element.substr(element.size() - 8), "</svg>\">");
  EXPECT_EQ(count(element, "\""), 6u) << "nothing in the picture ends the attribute";
  for (const char* wanted : {"viewBox=", "rgb(31,95,168)", "rgb(184,82,10)", "%23gpPt3'"})
    EXPECT_NE(element.find(wanted), std::string::npos) << wanted;
  for (const char* unwanted :
       {"<script", "#", "&", "\n", "<title>", "<!DOCTYPE", "GNUPLOT", "id='gpPt5'"})
    EXPECT_EQ(element.substr(element.find("src=")).find(unwanted), std::string::npos) << unwanted;
}

TEST(Chart, HasALegendOfWhatItNames) {
  Chart chart = sample_chart();
  chart.series.push_back({.draw = Draw::upright, .x = {1}});
  const std::vector<LegendEntry> legend = legend_of(chart);
  ASSERT_EQ(legend.size(), 2u);
  EXPECT_EQ(legend[0].name + legend[0].css_class + legend[0].symbol, "a < bs0━");
  EXPECT_EQ(legend[1].name + legend[1].css_class + legend[1].symbol, "seconds1□");
}

TEST(Chart, StaysSmallWithManyPoints) {
  Chart chart = sample_chart();
  for (Series& series : chart.series) {
    series.x.clear();
    series.y.clear();
    for (int i = 0; i < 200000; ++i) {
      series.x.push_back(i);
      series.y.push_back(i % 97);
    }
  }
  const Picture picture = draw_chart(chart);
  EXPECT_EQ(picture.error, "");
  EXPECT_LT(picture.svg.size(), 20000u);
}

/// Counts a text that gnuplot writes beside the axes and marks.
std::size_t count_texts(const Picture& picture, const std::string& text) {
  return count(picture.svg, ">" + text + "<");
}

TEST(Chart, HasTicksMarksAndABand) {
  Chart chart = sample_chart();
  chart.x = {"x", Scale::logarithmic, Unit::bytes};
  chart.y = {"y", Scale::logarithmic};
  chart.series = {{.draw = Draw::joined, .x = {1024, 4096}, .y = {3, 30}},
                  {.draw = Draw::upright, .x = {2048}, .labels = {"L2"}}};
  const Picture plain = draw_chart(chart);
  chart.series.push_back(
      {.draw = Draw::band, .x = {1024, 4096}, .y = {45, 60}, .low = {40, 50}, .high = {50, 70}});
  const Picture picture = draw_chart(chart);
  ASSERT_EQ(picture.error, "");
  for (const char* text : {"1 KiB", "2 KiB", "4 KiB", "L2", "5", "50"})
    EXPECT_EQ(count_texts(picture, text), 1u) << text;
  EXPECT_EQ(count(picture.svg, "rgb(180,189,201)"), 1u);
  EXPECT_EQ(count(plain.svg, "rgb(180,189,201)"), 0u);
}

// However wide the range is, and with equal steps where it is narrow.
TEST(Chart, NamesAsManyPlacesAsHaveRoom) {
  Chart chart = sample_chart();
  chart.x = {"x", Scale::logarithmic, Unit::power_of_two};
  chart.series = {{.draw = Draw::joined, .x = {1, 256}, .y = {1, 2}}};
  EXPECT_EQ(count(draw_chart(chart).svg, "<tspan>2</tspan>"), 9u);
  chart.series = {{.draw = Draw::joined, .x = {1, 0x1p31}, .y = {1, 2}}};
  EXPECT_EQ(count(draw_chart(chart).svg, "<tspan>2</tspan>"), 8u);
  chart.x.unit = Unit::number;
  chart.series = {{.draw = Draw::joined, .x = {0.9, 1.1}, .y = {10, 20}}};
  const Picture narrow = draw_chart(chart);
  for (const char* text : {"1", "1.5", "10", "15", "20"})
    EXPECT_EQ(count_texts(narrow, text), 1u) << text;
}

TEST(Chart, AFloorMakesPowersOfTen) {
  Chart chart = sample_chart();
  chart.y = {"y", Scale::logarithmic, Unit::power_of_ten, 1e-9};
  chart.series = {{.draw = Draw::joined, .x = {1, 2}, .y = {1e-9, 1e-3}}};
  const Picture picture = draw_chart(chart);
  EXPECT_NE(picture.svg.find("-8"), std::string::npos);
  EXPECT_EQ(count_texts(picture, "0.001"), 0u);
}

TEST(Chart, WithoutAPointSaysSo) {
  Chart chart = sample_chart();
  for (Series& series : chart.series) series.y.assign(3, std::numeric_limits<double>::infinity());
  EXPECT_EQ(draw_chart(chart).error, "there is no finite point to draw");
}

TEST(Hostile, NamesEnterNoScriptOfGnuplot) {
  for (const char* name : {"", "a\"b", "$x", "`id`", "a\nb", "a;b", "^{x}", "\\x", "@m", "é"})
    EXPECT_EQ(row_label(name, 7), "no. 7") << name;
  EXPECT_EQ(row_label("mine (twin) v1.2/x-y_z", 7), "mine (twin) v1.2/x-y_z");
  EXPECT_EQ(row_label(std::string(40, 'x'), 7).size(), 26u);
  EXPECT_EQ(row_label(std::string(45, 'x'), 7), "no. 7");
  Chart chart = sample_chart();
  chart.name = chart.series[0].name = chart.series[0].note = "\"; set output 'planted'; \"";
  EXPECT_EQ(draw_chart(chart).svg, draw_chart(sample_chart()).svg);
}

TEST(Chart, WithoutGnuplotSaysSo) {
  EXPECT_EQ(draw_chart(sample_chart(), "/nonexistent/gnuplot").error, "gnuplot is not installed");
  EXPECT_EQ(draw_chart(sample_chart(), "/bin/false").error, "gnuplot failed with exit code 1");
  EXPECT_EQ(draw_chart(sample_chart(), "/bin/true").error, "gnuplot drew no whole picture");
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
