// Each digit of a page is held to its results.
#include "reports/check/check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "base/digest.h"
#include "reports/check/picture_check.h"
#include "reports/pages/page_data.h"
#include "reports/pages/render.h"
#include "reports/testing/sample_results.h"

namespace ropewalk::report {
namespace {

const std::string& sample_page() {
  static const std::string page = render_html(sample_results());
  return page;
}

PageCheck check(const std::string& page) {
  return check_page(page, "report.html", std::nullopt);
}

TEST(Check, APageHoldsByWhatItCarries) {
  const PageCheck alone = check(sample_page());
  EXPECT_TRUE(alone.holds) << alone.text;
  EXPECT_NE(alone.text.find(sha256_hex(text_of(sample_results()))), std::string::npos);
  const PageCheck with_file = check_page(sample_page(), "report.html", sample_results());
  EXPECT_TRUE(with_file.holds) << with_file.text;
}

TEST(Check, FindsOtherResults) {
  Results other = sample_results();
  other.run.seed ^= 1;
  const PageCheck found = check_page(sample_page(), "report.html", other);
  EXPECT_FALSE(found.holds);
  EXPECT_NE(found.text.find("carries other results than the file"), std::string::npos);
}

/// The page with one digit replaced by another.
std::string edited(std::string page, std::size_t at) {
  page[at] = page[at] == '9' ? '0' : static_cast<char>(page[at] + 1);
  return page;
}

bool is_refused(const std::string& page, const std::string& gnuplot) {
  try {
    return !check_page(page, "report.html", std::nullopt, gnuplot).holds;
  } catch (const BadFile&) {
    return true;
  }
}

/// To edit every digit would take too long. One digit of each stretch is edited, in tables,
/// pictures, script, policy and carried results alike.
void edit_digits(const std::string& page, const std::string& gnuplot, std::size_t stretches) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t at = page.find_first_of("0123456789", i * (page.size() / stretches));
    if (at == std::string::npos) continue;
    EXPECT_TRUE(is_refused(edited(page, at), gnuplot)) << page.substr(at - 40, 80);
    ++tried;
  }
  EXPECT_GT(tried, stretches / 2);
  EXPECT_FALSE(is_refused(page, gnuplot)) << "what was not edited is not refused";
}

TEST(Check, OneEditedDigitAnywhereIsFound) {
  edit_digits(render_html(sample_results(), "/"), "/", 100);
  edit_digits(sample_page(), "", 6);
}

TEST(Check, NamesTheFirstThatDiffers) {
  std::string page = sample_page();
  const std::string cell = "<td class=\"num\" data-label=\"claims that hold\">";
  const std::size_t at = page.find(cell) + cell.size();
  ASSERT_EQ(page.substr(at, 8), "36 of 36");
  page[at] = '9';
  const std::string text = check(page).text;
  EXPECT_EQ(text.substr(text.find(": K") + 2),
            "Kernels, row dense: the page has 96, the results give 36");
}

TEST(Check, RefusesWhatIsNoPageOfThisRopewalk) {
  for (const std::string& text : {std::string(), std::string("<html>"), sample_page().substr(9999)})
    EXPECT_THROW(check(text.substr(0, 2000)), BadFile);
  std::string other = sample_page();
  const std::size_t at = other.find(maker_begin) + maker_begin.size();
  other.replace(at, 8, "ropewalj");
  EXPECT_THROW(check(other), BadFile);
}

std::string drawn_by_another(std::string page) {
  const std::size_t at = page.find("gnuplot ", page.find(maker_begin));
  return page.replace(at, 9, "gnuplot 9");
}

const std::string& foreign_page() {
  static const std::string page = drawn_by_another(sample_page());
  return page;
}

std::vector<std::string> pictures_of(const std::string& page) {
  std::vector<std::string> out;
  for (std::size_t at = page.find("<svg class=\"chart "); at < page.npos;
       at = page.find("<svg class=\"chart ", at + 1))
    out.push_back(page.substr(at, page.find("</svg>", at) + 6 - at));
  return out;
}

/// Leaves out the marks that gnuplot 6 draws in no colour: moving one of them forges nothing.
std::vector<std::string> seen_pictures_of(const std::string& page) {
  std::vector<std::string> out;
  for (const std::string& svg : pictures_of(page))
    out.push_back(std::regex_replace(svg, std::regex("<use [^>]*color='transparent'[^>]*/>"), ""));
  return out;
}

/// Replaces the first `what` behind the first `behind` in `svg`.
std::string replaced(std::string svg, const std::string& what, const std::string& with,
                     const std::string& behind = "<svg") {
  const std::size_t at = svg.find(what, svg.find(behind));
  EXPECT_NE(at, svg.npos) << what;
  return at == svg.npos ? svg : svg.replace(at, what.size(), with);
}

// A page that names another gnuplot cannot replace a picture with something else.
TEST(Check, AForgedPictureIsFound) {
  const PageCheck honest = check(foreign_page());
  EXPECT_TRUE(honest.holds) << honest.text;
  EXPECT_FALSE(honest.in_full);
  for (const std::string& forged :
       {replaced(foreign_page(), "</text>", "0</text>", "<svg class=\"chart "),
        replaced(foreign_page(), "<defs>", "<a xlink:href=\"https://example.org\"></a><defs>",
                 "<svg class=\"chart "),
        replaced(foreign_page(), "<title>",
                 "<section><h1>All kernels verified</h1></section><title>",
                 "<svg class=\"chart ")}) {
    const PageCheck found = check(forged);
    EXPECT_FALSE(found.holds) << found.text;
    EXPECT_EQ(found.text.find("every number"), found.text.npos);
  }
}

TEST(Pictures, WhatGnuplotDoesNotDrawIsFound) {
  const std::string svg = seen_pictures_of(sample_page()).at(0);
  const std::string words = "<text><tspan font-size=\"12.0\">42</tspan></text>";
  const std::string rect = "<rect x=\"0\" y=\"0\"", use = "<use xlink:href", drawing = "</defs>";
  const std::string link = "https://example.org/";
  const auto before_rect = [&](const std::string& drawn) {
    return replaced(svg, rect, drawn + rect);
  };
  const std::string foreign[] = {
      replaced(svg, "<title>Ratios", "<title>Rations"),
      before_rect(words),
      before_rect("<g font-size=\"99\" fill=\"black\">" + words + "</g>"),
      replaced(svg, "font-size=\"12.00\"", "font-size=\"99.00\""),
      before_rect("<a xlink:href=\"" + link + "\"><circle r=\"9\"/></a>"),
      before_rect("<image href=\"" + link + "x.svg\"/>"),
      before_rect("<foreignObject><p>9</p></foreignObject>"),
      before_rect("<style>text{display:none}</style>"),
      before_rect("<script>1</script>"),
      before_rect("<!-- 9 -->"),
      before_rect("9"),
      before_rect("<svg></svg>"),
      replaced(svg, rect, "<rect onclick=\"f()\" x=\"0\" y=\"0\""),
      replaced(svg, rect, "<rect style=\"fill:red\" x=\"0\" y=\"0\""),
      replaced(svg, rect, "<rect class=\"banner\" x=\"0\" y=\"0\""),
      replaced(svg, rect, "<rect id=\"failure-1\" x=\"0\" y=\"0\""),
      before_rect("<rect x=\"0\" y=\"0\" width=\"99\" height=\"99\" fill=\"black\"/>"),
      before_rect("<path stroke='var(--muted)' d='M400,300 L420,320'/>"),
      replaced(svg, "xlink:href='#", "xlink:href='" + link + "#"),
      replaced(svg, "fill=\"none\"", "fill=\"url(#x)\""),
      replaced(svg, "d='M0,-1.33", "d='M0,-9.33"),
      replaced(svg, use, "<use x='30' xlink:href", drawing),
      replaced(svg, "scale(", "scale(9", drawing),
      replaced(svg, "</g>", "", drawing),
      replaced(svg, "'>", "' transform='scale(2)'>", drawing),
      replaced(svg, "stroke-width=\"1.50\"", "stroke-width=\"91.50\""),
      replaced(svg, drawing, "<g id='gpPt99'><circle r='9' fill='red'/></g>" + drawing),
      replaced(svg, "color='var(--series-1)'", "color='var(--series-0)'", drawing)};
  for (const std::string& forged : foreign) EXPECT_NE(picture_difference(forged, svg), "");
}

// A symbol that holds a painted one shows its paints, whatever the symbol's own are.
TEST(Pictures, AMarkOfASymbolWithinASymbolIsFound) {
  const std::string svg = seen_pictures_of(sample_page()).at(0);
  const std::size_t named = svg.find("gpPt4'"), quote = svg.rfind('\'', named);
  ASSERT_NE(named, svg.npos);
  const std::string prefix = svg.substr(quote + 1, named - quote - 1);
  const std::string symbol = "<use xlink:href='#" + prefix + "gpPt4' id='" + prefix +
                             "gpPt99' fill='none' stroke='none'/>";
  const std::string mark =
      "<use xlink:href='#" + prefix + "gpPt99' transform='translate(99,9) scale(4)' color='red'/>";
  EXPECT_EQ(picture_difference(replaced(svg, "</defs>", symbol + "</defs>"), svg), "");
  EXPECT_NE(picture_difference(replaced(svg, "</defs>", symbol + "</defs>" + mark), svg), "");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digits_before_point(const std::string& text, std::size_t at) {
  std::size_t digits = 0;
  while (is_digit(text[at + digits])) ++digits;
  return digits;
}

// Tries words, marks and lines one after the other.
TEST(Pictures, EveryWordMarkAndLineIsHeld) {
  int tried = 0;
  for (const std::string& svg : seen_pictures_of(sample_page()))
    for (const std::string what : {"</tspan>", "translate(", "points = '"})
      for (std::size_t i = svg.find("</defs>"); (i = svg.find(what, i + 1)) < svg.npos;) {
        std::string other = svg;
        if (what == "</tspan>") {
          other.insert(i, "1");
        } else {
          // Moves it by hundreds of pixels in either direction.
          const std::size_t digit = i + what.size();
          if (digits_before_point(svg, digit) != 3) continue;
          other[digit] = other[digit] == '9' ? '1' : static_cast<char>(other[digit] + 1);
        }
        EXPECT_NE(picture_difference(other, svg), "") << svg.substr(i - 30, 60);
        ++tried;
        i += svg.size() / 40;
      }
  EXPECT_GT(tried, 100);
}

// Another gnuplot may write other last digits, margins, orders of attributes and pieces of lines.
TEST(Pictures, OtherDigitsAndMarginsAreNoDifference) {
  for (const std::string& svg : pictures_of(sample_page())) {
    ASSERT_EQ(picture_difference(svg, svg), "");
    std::string moved = svg;
    // Moves everything three pixels to the right, as a wider margin does.
    const std::string canvas = "_canvas\"";
    moved.insert(moved.find(canvas) + canvas.size(), " transform=\"translate(3.00,1.00)\"");
    EXPECT_EQ(picture_difference(moved, svg), "");
    std::string rounded = svg;
    for (std::size_t dot = rounded.find("</defs>"); (dot = rounded.find('.', dot)) < rounded.npos;
         ++dot)
      if (is_digit(rounded[dot + 1]) && is_digit(rounded[dot + 2]) && !is_digit(rounded[dot + 3]))
        rounded[dot + 2] = '5';
    EXPECT_EQ(picture_difference(rounded, svg), "");
  }
}

// Version 6 writes 270.00 degrees and an unseen mark below each mark. A mark that is seen is a
// forgery.
TEST(Pictures, WhatGnuplot6DrawsOtherwiseIsNoDifference) {
  int tried = 0;
  for (const std::string& svg : pictures_of(sample_page())) {
    std::string turned = svg;
    for (std::size_t at = 0; (at = turned.find("rotate(270)", at)) < turned.npos; ++at)
      turned.replace(at, 11, "rotate(270.00)");
    EXPECT_EQ(picture_difference(turned, svg), "");
    const std::string filled = "gpPt6'", use = "<use xlink:href='#";
    const std::size_t defined = svg.find(filled), mark = svg.find(use, svg.find("</defs>"));
    if (defined == svg.npos || mark == svg.npos) continue;
    const std::size_t quote = svg.rfind('\'', defined);
    const std::string symbol = svg.substr(quote + 1, defined + filled.size() - quote - 1);
    const auto with = [&](const std::string& color) {
      std::string other = svg;
      return other.insert(
          mark, fmt::format("{}{} transform='translate(99,9) scale(4.88)' color='{}'/>", use,
                            symbol, color));
    };
    EXPECT_EQ(picture_difference(with("transparent"), svg), "");
    for (const char* seen : {"red", "none", "inherit"})
      EXPECT_NE(picture_difference(with(seen), svg), "") << seen;
    for (const char* red : {"red", "currentColor' color='red"}) {
      std::string painted = with("transparent");
      const std::size_t paint = painted.find("currentColor", defined);
      EXPECT_NE(picture_difference(painted.replace(paint, 12, red), svg), "");
    }
    ++tried;
  }
  EXPECT_GT(tried, 3);
}

TEST(Check, APageOfAnotherGnuplotIsHeldByItsTables) {
  const std::string bare = render_html(sample_results(), "/");
  const PageCheck found = check(bare);
  EXPECT_FALSE(found.holds) << "a page without pictures says so in words, which differ";
}

}  // namespace
}  // namespace ropewalk::report
