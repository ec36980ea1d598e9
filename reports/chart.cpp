#include "reports/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "reports/program.h"
#include "reports/text.h"

namespace ropewalk {
namespace {

constexpr std::size_t line_points_max = 800, mark_points_max = 48;
constexpr double linear_axis_max = 1100;

// Colours that stand for CSS variables: #0102NN. Their real values follow the page's theme.
constexpr int ink_code = 0xA0, grid_code = 0xA1, paper_code = 0xA2;

std::string css_colour(int code) {
  if (code == ink_code) return "var(--muted)";
  if (code == grid_code) return "var(--line)";
  if (code == paper_code) return "none";
  return fmt::format("var(--series-{})", code);
}

/// Every k-th point, the last included, so that a picture stays small.
std::string data_block(std::size_t index, const ChartSeries& series) {
  std::string out = fmt::format("$d{} << EOD\n", index);
  const std::size_t count = std::min(series.x.size(), series.y.size());
  const std::size_t most = series.line ? line_points_max : mark_points_max;
  const std::size_t step = count > most ? (count + most - 1) / most : 1;
  for (std::size_t i = 0; i < count; i += step) {
    const bool last = i + step >= count;
    const std::size_t at = last ? count - 1 : i;
    if (std::isfinite(series.x[at]) && std::isfinite(series.y[at]))
      out += fmt::format("{:.9g} {:.9g}\n", series.x[at], series.y[at]);
  }
  return out + "EOD\n";
}

/// Distances run from 0 over several powers of two: a log axis that still has a place for 0.
std::string x_axis(double x_max) {
  if (!(x_max > linear_axis_max)) return "set xrange [0:*]\n";
  std::string tics = "0";
  for (double tic = 4; tic <= x_max; tic *= 4) tics += fmt::format(", {:.0f}", tic);
  return "set nonlinear x via log10(1 + x) inverse 10**x - 1\n" +
         fmt::format("set xrange [0:{:.9g}]\nset xtics ({})\n", x_max, tics);
}

bool has_points(const ChartSeries& series) {
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
    if (std::isfinite(series.x[i]) && std::isfinite(series.y[i])) return true;
  return false;
}

/// Empty when there is nothing to draw.
std::string script_of(const ChartRequest& request) {
  const std::string ink = fmt::format("rgb \"#0102{:02x}\"", ink_code);
  std::string data, plots;
  double x_max = 0;
  for (std::size_t i = 0; i < std::min(request.series.size(), chart_series_max); ++i) {
    const ChartSeries& series = request.series[i];
    if (!has_points(series)) continue;
    data += data_block(i, series);
    for (const double x : series.x)
      if (std::isfinite(x)) x_max = std::max(x_max, x);
    constexpr std::array marks = {6, 4, 8, 12, 10, 1, 2, 14};
    // Kernels that agree lie on one another: each next mark is smaller, so that all stay visible.
    const double size = std::max(0.5, 1.9 - 0.28 * static_cast<double>(i));
    const std::string style =
        series.line ? "lines lw 1.5"
                    : fmt::format("points pt {} ps {:.2f} lw 1.5", marks[i % marks.size()], size);
    plots += fmt::format("{}$d{} with {} lc rgb \"#0102{:02x}\"", plots.empty() ? "plot " : ", ", i,
                         style, i);
  }
  if (plots.empty()) return "";
  std::string script = fmt::format(
      "set encoding utf8\n"
      "set terminal svg size 960,360 dynamic font \"sans,13\" background \"#0102{:02x}\"\n",
      paper_code);
  script += fmt::format("set border 3 lc {0}\nset tics nomirror textcolor {0}\n", ink);
  script += fmt::format("set grid ytics lc rgb \"#0102{:02x}\" dt solid\nset key off\n", grid_code);
  script += fmt::format("set xlabel \"{}\" tc {}\nset ylabel \"{}\" tc {}\nset yrange [0:*]\n",
                        request.x_label, ink, request.y_label, ink);
  return script + x_axis(x_max) + data + plots + "\n";
}

/// The colour written at `text` ("rgb(1, 2, 3)" or "#010203") and how long it is there.
struct Colour {
  std::array<int, 3> rgb{};
  std::size_t length = 0;
};

std::optional<Colour> colour_at(std::string_view text) {
  Colour colour;
  if (text.substr(0, 4) == "rgb(") {
    std::size_t at = 4;
    for (int& part : colour.rgb) {
      at = text.find_first_not_of(" ,", at);
      if (at == std::string_view::npos) return std::nullopt;
      const auto read = std::from_chars(text.data() + at, text.data() + text.size(), part);
      if (read.ec != std::errc()) return std::nullopt;
      at = static_cast<std::size_t>(read.ptr - text.data());
    }
    colour.length = text.find(')', at) + 1;
  } else if (text.substr(0, 1) == "#" && text.size() >= 7) {
    for (std::size_t i = 0; i < 3; ++i) {
      const char* digits = text.data() + 1 + 2 * i;
      const auto read = std::from_chars(digits, digits + 2, colour.rgb[i], 16);
      if (read.ptr != digits + 2) return std::nullopt;
    }
    colour.length = 7;
  }
  if (colour.length == 0) return std::nullopt;
  return colour;
}

std::string with_css_colours(std::string_view svg) {
  std::string out;
  while (!svg.empty()) {
    const std::size_t at = std::min(svg.find_first_of("r#"), svg.size());
    out += svg.substr(0, at);
    svg.remove_prefix(at);
    const auto colour = colour_at(svg);
    const bool ours = colour && colour->rgb[0] == 1 && colour->rgb[1] == 2;
    const std::size_t length = ours ? colour->length : std::min<std::size_t>(svg.size(), 1);
    out += ours ? css_colour(colour->rgb[2]) : std::string(svg.substr(0, length));
    svg.remove_prefix(length);
  }
  return out;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

void remove_all(std::string& text, std::string_view begin, std::string_view end) {
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    const std::size_t stop = text.find(end, at);
    if (stop == std::string::npos) return;
    text.erase(at, stop + end.size() - at);
  }
}

void remove_empty_groups(std::string& text) {
  for (std::size_t at = 0; (at = text.find("<g ", at)) != std::string::npos;) {
    const std::size_t close = text.find('>', at);
    const std::size_t next = text.find_first_not_of(" \t\n", close + 1);
    if (close == std::string::npos || next == std::string::npos) return;
    if (text.compare(next, 4, "</g>") == 0)
      text.erase(at, next + 4 - at);
    else
      at = close;
  }
}

/// From gnuplot's document to an element of a page: scales with the page, has a name, no tooltips,
/// ids of its own.
std::string page_element(std::string svg, const ChartRequest& request) {
  remove_all(svg, "<title>", "</title>");
  remove_all(svg, "<desc>", "</desc>");
  remove_all(svg, "<filter", "</filter>");
  remove_empty_groups(svg);
  replace_all(svg, "font-family=\"sans\"", "");
  replace_all(svg, "id=\"gnuplot_", "id=\"" + request.id + "_");
  replace_all(svg, "'gp", "'" + request.id + "gp");
  replace_all(svg, "#gp", "#" + request.id + "gp");
  svg = with_css_colours(svg);
  const std::string title = xml_text(request.title);
  const std::size_t open = svg.find("<svg");
  const std::size_t inside = svg.find('>', open) + 1;
  svg.insert(inside, "\n<title>" + title + "</title>");
  svg.replace(
      open, 4,
      "<svg class=\"chart\" role=\"img\" aria-label=\"" + title + "\" font-family=\"inherit\"");
  return svg.substr(open, svg.rfind("</svg>") + 6 - open);
}

}  // namespace

Chart draw_chart(const ChartRequest& request, const std::string& program) {
  const std::string script = script_of(request);
  if (script.empty()) return {"", "there is no finite point to draw"};
  const std::string gnuplot = program.empty() ? GNUPLOT : program;
  ProgramOutput output = run_program({gnuplot, "-d", "-"}, script);
  if (!output.error.empty()) return {"", "gnuplot " + clean_line(output.error)};
  const bool whole = output.text.find("<svg") != std::string::npos &&
                     output.text.find("</svg>") != std::string::npos;
  if (!whole) return {"", "gnuplot drew no whole picture"};
  return {page_element(std::move(output.text), request), ""};
}

}  // namespace ropewalk
