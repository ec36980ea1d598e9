#include "reports/figures/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/system/program.h"
#include "base/text.h"

namespace ropewalk::report {
namespace {

constexpr std::size_t line_points_max = 800;
constexpr std::size_t pixels_a_mark = 18;
constexpr std::size_t band_middle = 999;  // the number of its data, behind those of all series

// Colours that stand for CSS variables: #0102NN. The page's theme gives their real values.
constexpr int ink_code = 0xA0, grid_code = 0xA1, paper_code = 0xA2, band_code = 0xA3;

std::string gnuplot_colour(int code) {
  return fmt::format("rgb \"#0102{:02x}\"", code);
}

std::string css_colour(int code) {
  if (code == ink_code) return "var(--muted)";
  if (code == grid_code) return "var(--line)";
  if (code == paper_code) return "none";
  if (code == band_code) return "var(--hatch)";
  return fmt::format("var(--series-{})", code);
}

std::size_t marks_max(ChartSize size) {
  return static_cast<std::size_t>(size.width) / pixels_a_mark;
}

/// Writes every k-th point and the last one, so that a picture stays small.
std::string data_block(std::size_t index, const ChartSeries& series, ChartSize size) {
  std::string out = fmt::format("$d{} << EOD\n", index);
  const std::size_t count = std::min(series.x.size(), series.y.size());
  const std::size_t most = series.draw == Draw::points ? marks_max(size) : line_points_max;
  const std::size_t step = count > most ? (count + most - 1) / most : 1;
  for (std::size_t i = 0; i < count; i += step) {
    const bool last = i + step >= count;
    const std::size_t at = last ? count - 1 : i;
    if (!std::isfinite(series.x[at]) || !std::isfinite(series.y[at])) continue;
    out += fmt::format("{:.9g} {:.9g}", series.x[at], series.y[at]);
    if (!series.x_low.empty())
      out += fmt::format(" {:.9g} {:.9g}", series.x_low[at], series.x_high[at]);
    out += '\n';
  }
  return out + "EOD\n";
}

bool has_points(const ChartSeries& series) {
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
    if (std::isfinite(series.x[i]) && std::isfinite(series.y[i])) return true;
  return false;
}

/// Drops ticks until each has room beside the next.
std::string tick_list(const std::vector<ChartPlace>& ticks, ChartSize size) {
  std::size_t longest = 1;
  for (const ChartPlace& tick : ticks) {
    const auto shown =
        std::ranges::count_if(tick.label, [](char c) { return c != '^' && c != '{' && c != '}'; });
    longest = std::max(longest, static_cast<std::size_t>(shown));
  }
  const auto letter_width = static_cast<std::size_t>(size.font) * 7 / 13;
  const std::size_t frame_width = 12 * letter_width;
  const std::size_t needed = ticks.size() * (longest + 2) * letter_width;
  const std::size_t room = static_cast<std::size_t>(size.width) - frame_width;
  const std::size_t step = (needed + room - 1) / room;
  std::string list;
  for (std::size_t i = 0; i < ticks.size(); i += step)
    list += fmt::format("{}\"{}\" {:.9g}", i == 0 ? "" : ", ", ticks[i].label, ticks[i].x);
  return list;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(const std::vector<double>& values) {
    for (const double v : values) {
      if (!std::isfinite(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
};

/// 1, 2, 5, 10, 20 ... The first is the last such value <= `low`, the last is the first >= `high`.
std::vector<double> round_values(double low, double high) {
  std::vector<double> values;
  for (int power = static_cast<int>(std::floor(std::log10(low)));; ++power)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, power);
      if (value <= low) values.clear();
      values.push_back(value);
      if (value >= high) return values;
    }
}

/// The names of rows in place of numbers. The caller has checked their letters. A narrow picture
/// cuts them short.
std::string row_names(const std::vector<ChartPlace>& rows, ChartSize size) {
  const bool narrow = size.width < 500;
  const std::size_t most = narrow ? 20 : 44;
  std::string list;
  double lowest = 0;
  for (const ChartPlace& row : rows) {
    const std::string name =
        row.label.size() > most ? row.label.substr(0, most - 2) + ".." : row.label;
    list += fmt::format("{}\"{}\" {:.9g}", list.empty() ? "" : ", ", name, row.x);
    lowest = std::min(lowest, row.x);
  }
  return fmt::format(
      "set ytics scale 0 ({}) noenhanced font \",12\"\nset grid noytics xtics\n"
      "set yrange [{:.9g}:-0.3]\nset lmargin at screen {}\nset rmargin at screen 0.96\n",
      list, lowest - 0.7, narrow ? 0.48 : 0.3);
}

/// The part of the width that the names of rows leave.
ChartSize beside(ChartSize size) {
  size.width = size.width * 3 / 5;
  return size;
}

std::string y_axis(const ChartRequest& request, const Range& y, ChartSize size) {
  if (!request.y_rows.empty()) return row_names(request.y_rows, size);
  const std::string log = "set logscale y 10\nset nomytics\n";
  if (request.y_floor > 0) {
    const double top = std::pow(10, std::ceil(std::log10(std::max(y.high, request.y_floor * 10))));
    return log + fmt::format("set format y \"10^{{%T}}\"\nset yrange [{:.9g}:{:.9g}]\n",
                             request.y_floor, top);
  }
  if (request.y_scale != Scale::logarithmic || !(y.low > 0)) return "set yrange [0:*]\n";
  const std::vector<double> values = round_values(y.low, y.high);
  std::string tics;
  for (const double v : values) tics += fmt::format("{}{:.9g}", tics.empty() ? "" : ", ", v);
  return log + fmt::format("set ytics ({})\nset yrange [{:.9g}:{:.9g}]\n", tics, values.front(),
                           values.back());
}

std::string axes(const ChartRequest& request, ChartSize size) {
  Range x, y;
  for (const ChartSeries& series : request.series) {
    x.take(series.x);
    x.take(series.x_low);
    x.take(series.x_high);
    y.take(series.y);
  }
  x.take(request.band.x);
  y.take(request.band.low);
  y.take(request.band.high);
  std::string script = "set xrange [0:*]\n";
  if (request.x_scale == Scale::from_zero)
    script = fmt::format(
        "set nonlinear x via log10(1 + x) inverse 10**x - 1\nset xrange [0:{:.9g}]\n", x.high);
  if (request.x_scale == Scale::logarithmic) {
    for (const ChartPlace& mark : request.x_marks) x.take({mark.x});
    const double room = request.boxes.empty() ? 1.5 : 1.06;
    // A box reaches as far as twice and half the points' range. A larger box would push the points
    // together.
    for (const ChartBox& box : request.boxes)
      x.take({std::max(box.x_low, 0.5), std::min(box.x_high, 2.0)});
    script =
        fmt::format("set logscale x 2\nset xrange [{:.9g}:{:.9g}]\n", x.low / room, x.high * room);
  }
  if (!request.x_ticks.empty())
    script += fmt::format("set xtics ({})\nset nomxtics\n",
                          tick_list(request.x_ticks, request.y_rows.empty() ? size : beside(size)));
  for (const ChartBox& box : request.boxes)
    script += fmt::format(
        "set object rectangle from {:.9g}, {:.9g} to {:.9g}, {:.9g} behind clip "
        "fc {} fs solid 0.5 noborder\n",
        box.x_low, box.y_low, box.x_high, box.y_high, gnuplot_colour(band_code));
  for (const ChartPlace& mark : request.x_marks) {
    const std::string at = fmt::format("{:.9g}", mark.x);
    script += fmt::format("set arrow from {0}, graph 0 to {0}, graph 1 nohead dt 2 lc {1}\n", at,
                          gnuplot_colour(ink_code));
    if (mark.label.empty()) continue;
    script += fmt::format("set label \"{}\" at {}, graph 1.045 center tc {}\n", mark.label, at,
                          gnuplot_colour(ink_code));
  }
  return script + y_axis(request, y, size);
}

std::string style_of(const ChartSeries& series, std::size_t index, ChartSize size) {
  if (series.draw == Draw::line)
    return series.style.mark == 0 ? "lines lw 1.5" : "lines lw 1.5 dt 2";
  constexpr std::array<int, series_marks> marks = {6, 4, 8, 12, 10, 1, 2, 14};
  const std::string mark =
      fmt::format("pt {}", marks.at(static_cast<std::size_t>(series.style.mark)));
  if (!series.x_low.empty()) return fmt::format("xerrorbars {} ps 0.9 lw 1.5", mark);
  if (series.draw == Draw::points) return fmt::format("points {} ps 1.2 lw 1.5", mark);
  // Kernels that agree overlap. Each further mark is smaller, so that all stay visible.
  const double scale = std::max(0.5, 1.9 - 0.28 * static_cast<double>(index));
  return fmt::format("linespoints {} ps {:.2f} lw 1.5 pi {}", mark, 0.7 * scale,
                     1 + series.x.size() / marks_max(size));
}

/// The data of the band and its middle line, and the commands that plot them; empty without a band.
std::pair<std::string, std::string> band_of(const ChartBand& band, ChartSize size) {
  std::string data = "$band << EOD\n";
  const std::size_t count = std::min({band.x.size(), band.low.size(), band.high.size()});
  for (std::size_t i = 0; i < count; ++i)
    data += fmt::format("{:.9g} {:.9g} {:.9g}\n", band.x[i], band.low[i], band.high[i]);
  if (count == 0) return {};
  const ChartSeries middle{band.x, band.middle, Draw::line};
  return {data + "EOD\n" + data_block(band_middle, middle, size),
          fmt::format("$band using 1:2:3 with filledcurves lc {} fs solid 0.5 noborder, "
                      "$d{} with lines dt 2 lw 1.5 lc {}",
                      gnuplot_colour(band_code), band_middle, gnuplot_colour(ink_code))};
}

/// Empty if there is nothing to draw.
std::string script_of(const ChartRequest& request, ChartSize size) {
  auto [data, plots] = band_of(request.band, size);
  for (std::size_t i = 0; i < request.series.size(); ++i) {
    const ChartSeries& series = request.series[i];
    if (!has_points(series)) continue;
    data += data_block(i, series, size);
    plots +=
        fmt::format("{}$d{} with {} lc {}", plots.empty() ? "" : ", ", i, style_of(series, i, size),
                    gnuplot_colour(series.style.colour == grey ? ink_code : series.style.colour));
  }
  if (plots.empty()) return "";
  std::string script = fmt::format(
      "set encoding utf8\n"
      "set terminal svg size {},{} dynamic font \"sans,{}\" background \"#0102{:02x}\"\n",
      size.width, size.height, size.font, paper_code);
  const std::string ink = gnuplot_colour(ink_code);
  script += fmt::format("set border 3 lc {0}\nset tics nomirror textcolor {0}\n", ink);
  script += fmt::format("set grid ytics lc {} dt solid\nset key off\n", gnuplot_colour(grid_code));
  script += fmt::format("set xlabel \"{}\" tc {}\nset ylabel \"{}\" tc {}\n", request.x_label, ink,
                        request.y_label, ink);
  const auto named = [](const ChartPlace& mark) { return !mark.label.empty(); };
  if (std::ranges::any_of(request.x_marks, named)) script += "set tmargin 2\n";
  return script + axes(request, size) + data + "plot " + plots + "\n";
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

/// gnuplot writes a colour in one of four forms.
void use_css_colours(std::string& svg) {
  std::vector<int> codes = {ink_code, grid_code, paper_code, band_code};
  for (int colour = 0; colour < series_colours; ++colour) codes.push_back(colour);
  for (const int code : codes)
    for (const std::string& form :
         {fmt::format("#0102{:02x}", code), fmt::format("#0102{:02X}", code),
          fmt::format("rgb(  1,   2, {:3})", code), fmt::format("rgb(1,2,{})", code)})
      replace_all(svg, form, css_colour(code));
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

/// Makes an element of a page from gnuplot's document. The element scales with the page, has an
/// accessible name and ids of its own, and has no tooltips.
std::string page_element(std::string svg, const ChartRequest& request, ChartSize size) {
  const std::string id = request.id + size.css_class;
  remove_all(svg, "<title>", "</title>");
  remove_all(svg, "<desc>", "</desc>");
  remove_all(svg, "<filter", "</filter>");
  remove_empty_groups(svg);
  replace_all(svg, "font-family=\"sans\"", "");
  replace_all(svg, "id=\"gnuplot_", "id=\"" + id + "_");
  replace_all(svg, "'gp", "'" + id + "gp");
  replace_all(svg, "#gp", "#" + id + "gp");
  use_css_colours(svg);
  // A fill may be "none", but as a colour that is no value, and the text's colour would stay.
  replace_all(svg, "color='none'", "color='transparent'");
  const std::string title = xml_text(request.title);
  const std::size_t open = svg.find("<svg");
  const std::size_t inside = svg.find('>', open) + 1;
  svg.insert(inside, "\n<title>" + title + "</title>");
  svg.replace(open, 4,
              fmt::format("<svg class=\"chart {}\" role=\"img\" aria-label=\"{}\" "
                          "font-family=\"inherit\"",
                          size.css_class, title));
  return svg.substr(open, svg.rfind("</svg>") + 6 - open);
}

}  // namespace

ChartSize sized_for(const ChartRequest& request, ChartSize size) {
  if (request.y_rows.empty()) return size;
  constexpr int frame_height = 5, row_height = 22;  // height of the axis in rows; in pixels
  size.height = row_height * (static_cast<int>(request.y_rows.size()) + frame_height);
  return size;
}

Chart draw_chart(const ChartRequest& request, ChartSize size, const std::string& program) {
  const std::string script = script_of(request, size);
  if (script.empty()) return {"", "there is no finite point to draw"};
  const std::string gnuplot = program.empty() ? "gnuplot" : program;
  ProgramOutput output = run_program({gnuplot, "-d", "-"}, script);
  if (!output.error.empty()) return {"", "gnuplot " + clean_line(output.error)};
  const bool whole = output.text.find("<svg") != std::string::npos &&
                     output.text.find("</svg>") != std::string::npos;
  if (!whole) return {"", "gnuplot drew no whole picture"};
  return {page_element(std::move(output.text), request, size), ""};
}

}  // namespace ropewalk::report
