// Every colour of text has a contrast of at least 4.5 to 1 with its background (WCAG 2.1).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/pages/render.h"

namespace ropewalk::report {
namespace {

using Colours = std::map<std::string, std::string>;

/// The variables of each theme, "--ink: #171c24;": light, dark, print, in the order of report.css.
std::vector<Colours> themes(const std::string& css) {
  std::vector<Colours> out;
  for (std::size_t at = 0; (at = css.find(":root {", at)) != std::string::npos;) {
    const std::size_t end = css.find('}', at);
    Colours colours;
    while ((at = css.find("--", at)) < end) {
      const std::size_t colon = css.find(':', at), semicolon = css.find(';', at);
      colours[css.substr(at, colon - at)] = css.substr(colon + 2, semicolon - colon - 2);
      at = semicolon;
    }
    at = end;
    out.push_back(colours);
  }
  return out;
}

double luminance(const std::string& colour) {
  const std::size_t digits = colour.size() == 4 ? 1 : 2;
  if (colour.size() != 1 + 3 * digits || colour[0] != '#')
    throw std::invalid_argument("no colour: " + colour);
  constexpr double weight[] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string part = colour.substr(1 + i * digits, digits);
    const double c = std::stoi(digits == 1 ? part + part : part, nullptr, 16) / 255.0;
    sum += weight[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

/// What the filter of chart_css makes of a colour: invert(1), then the matrix of
/// hue-rotate(180deg).
std::string on_dark(const std::string& colour) {
  constexpr double matrix[3][3] = {
      {-0.574, 1.430, 0.144}, {0.426, 0.430, 0.144}, {0.426, 1.430, -0.856}};
  std::string out = "#";
  for (const auto& row : matrix) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i)
      sum += row[i] * (255 - std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16));
    const int value = static_cast<int>(std::clamp(sum, 0.0, 255.0));
    for (const int digit : {value / 16, value % 16}) out += "0123456789abcdef"[digit];
  }
  return out;
}

TEST(Style, ContrastIsThatOfTheStandard) {
  EXPECT_NEAR(contrast("#000", "#ffffff"), 21, 1e-9);
  EXPECT_NEAR(contrast("#777777", "#ffffff"), 4.48, 0.005);
  EXPECT_THROW(contrast("red", "#fff"), std::invalid_argument);
}

TEST(Style, TextStandsOutInLightDarkAndPrint) {
  const auto all = themes(page_text("report.css"));
  ASSERT_EQ(all.size(), 3u);
  const std::vector<std::pair<std::string, std::vector<std::string>>> pairs = {
      {"--ink", {"--paper", "--card", "--none-soft", "--accent-soft"}},
      {"--slow", {"--card", "--slow-soft"}},
      {"--muted", {"--paper", "--card", "--accent-soft"}},
      {"--accent", {"--paper", "--card"}},
      {"--good", {"--paper", "--card", "--good-soft"}},
      {"--bad", {"--paper", "--card", "--bad-soft"}},
      {"--none", {"--card", "--none-soft"}},
      {"--deep", {"--far", "--mid", "--near"}}};
  for (const Colours& own : all) {
    Colours colours = all[0];  // print and dark change some of the light ones
    for (const auto& [name, value] : own) colours[name] = value;
    for (const auto& [text, grounds] : pairs)
      for (const std::string& ground : grounds)
        EXPECT_GE(contrast(colours.at(text), colours.at(ground)), 4.5)
            << text << " " << colours.at(text) << " on " << ground << " " << colours.at(ground);
    EXPECT_GE(contrast(colours.at("--edge"), colours.at("--card")), 3);  // of what is typed into
    for (const char* colour : series_colours) {                          // marks and lines: 3 to 1
      EXPECT_GE(contrast(colour, all[0].at("--card")), 3) << colour;
      EXPECT_GE(contrast(on_dark(colour), all[1].at("--card")), 3) << colour;
    }
  }
}

}  // namespace
}  // namespace ropewalk::report
