#include "reports/figures/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <stdexcept>
#include <string_view>

#include "base/system/program.h"
#include "base/text.h"

namespace ropewalk::report {
namespace {

// Pixels. A phone of 390 pixels shows the picture about 340 wide, and its text 11 high.
constexpr int picture_width = 420, picture_height = 320, font_size = 14;
constexpr int line_height = 22;  // of a row and of a line of the legend
constexpr std::size_t line_points_max = 400, marks_max = 24, row_letters_max = 26;
// The labels of an axis have room for so many letters.
constexpr std::size_t x_letters = 44, x_letters_beside_rows = 22, y_letters = 60;

constexpr const char* grey_colour = "#5a6472";  // of text, axes and baselines
constexpr const char* band_colour = "#b4bdc9";
constexpr const char* dark_filter = "filter: invert(1) hue-rotate(180deg)";

/// The marks as gnuplot numbers them, and as a legend writes them.
constexpr int gnuplot_marks[series_marks] = {6, 4, 8, 12, 10, 1, 2, 14};
constexpr const char* symbols[series_marks] = {"○", "□", "△", "◇", "▽", "+", "×", "⬠"};

std::string colour_of(const Series& series) {
  if (series.draw == Draw::band) return band_colour;
  if (series.style.colour == grey) return grey_colour;
  return series_colours.at(static_cast<std::size_t>(series.style.colour));
}

std::string symbol_of(const Series& series) {
  if (series.draw == Draw::band) return "▒";
  if (series.draw == Draw::upright) return "┆";
  if (series.draw == Draw::line) return series.style.mark == 0 ? "━" : "╍";
  return symbols[series.style.mark];
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

/// The k-th place that an axis may name. Places grow with k.
ChartPlace place_at(Unit unit, int k) {
  if (unit == Unit::power_of_ten) return {std::pow(10, k), fmt::format("10^{{{}}}", k)};
  if (unit == Unit::power_of_two) return {std::exp2(k), fmt::format("2^{{{}}}", k)};
  if (unit == Unit::bytes) return {std::exp2(k), binary_size(std::exp2(k))};
  const int decade = static_cast<int>(std::floor(k / 3.0)), digit = k - 3 * decade;
  const double value = (digit == 0 ? 1 : digit == 1 ? 2 : 5) * std::pow(10, decade);
  return {value, value < 1000 ? fmt::format("{:g}", value) : count_text(std::llround(value))};
}

/// As many places of a logarithmic axis as have room for their labels. Where few round numbers lie
/// in the range, the places are multiples of one.
std::vector<ChartPlace> places_of(const Axis& axis, const Range& range, std::size_t letters) {
  std::vector<ChartPlace> places;
  const double most = range.high * (1 + 1e-9);
  if (axis.unit == Unit::number && range.high < 5 * range.low) {
    int k = -60;
    while (place_at(axis.unit, k).at < (range.high - range.low) / 4) ++k;
    const double step = place_at(axis.unit, k).at;
    for (double i = std::ceil(range.low / step); i * step <= most; ++i)
      places.push_back({i * step, fmt::format("{:.4g}", i * step)});
    return places;
  }
  const double least = (axis.scale == Scale::from_zero ? 3 : range.low) * (1 - 1e-9);
  for (int step = 1; step < 1024; ++step) {
    std::size_t longest = 1;
    places.clear();
    if (axis.scale == Scale::from_zero) places.push_back({0, "0"});
    for (int k = -100 * step; k < 1024 && place_at(axis.unit, k).at <= most; k += step) {
      const ChartPlace place = place_at(axis.unit, k);
      if (place.at < least) continue;
      longest = std::max(longest, place.label.size() - (place.label.ends_with('}') ? 3 : 0));
      places.push_back(place);
    }
    if (places.size() * (longest + 2) <= letters) break;
  }
  return places;
}

std::string list_of(const std::vector<ChartPlace>& places) {
  std::string list;
  for (const auto& [at, label] : places)
    list += fmt::format("{}\"{}\" {:.9g}", list.empty() ? "" : ", ", label, at);
  return list;
}

/// The commands for one axis, `name` x or y. The caller has widened the range.
std::string axis_commands(char name, const Axis& axis, Range range, std::size_t letters) {
  const std::string label = fmt::format("set {}label \"{}\" tc rgb ink\n", name, axis.label);
  const bool from_zero = axis.scale == Scale::from_zero;
  if (!from_zero && (axis.scale == Scale::linear || !(range.low > 0)))
    return label + fmt::format("set {}range [0:*]\n", name);
  const std::string scale =
      from_zero ? fmt::format("set nonlinear {0} via log10(1 + {0}) inverse 10**{0} - 1", name)
                : fmt::format("set logscale {}", name);
  return label +
         fmt::format("{1}\nset {0}range [{2:.9g}:{3:.9g}]\nset {0}tics ({4})\nset nom{0}tics\n",
                     name, scale, from_zero ? 0 : range.low, range.high,
                     list_of(places_of(axis, range, letters)));
}

std::string axes_of(const Chart& chart) {
  Range x, y;
  for (const Series& series : chart.series) {
    x.take(series.x);
    y.take(series.y);
    for (const auto* values : {&series.low, &series.high})
      (series.draw == Draw::band ? y : x).take(*values);
  }
  // A box reaches as far as twice and half the points' range. A larger box would push the points
  // together.
  for (const ChartBox& box : chart.boxes)
    x.take({std::max(box.x_low, 0.5), std::min(box.x_high, 2.0)});
  if (chart.x.scale == Scale::logarithmic) {
    const double room = chart.boxes.empty() ? 1.5 : 1.06;
    x = {x.low / room, x.high * room};
  }
  if (!chart.rows.empty())
    return axis_commands('x', chart.x, x, x_letters_beside_rows) +
           fmt::format(
               "set ytics scale 0 ({}) noenhanced font \",13\"\nset grid noytics xtics\n"
               "set yrange [{:.9g}:-0.3]\nset lmargin at screen 0.5\nset rmargin at screen 0.96\n",
               list_of(chart.rows), chart.rows.back().at - 0.7);
  y = {y.low / 1.1, y.high * 1.1};
  if (const double floor = chart.y.floor; floor > 0)
    y = {floor, std::pow(10, std::ceil(std::log10(std::max(y.high / 1.1, floor * 10))))};
  return axis_commands('x', chart.x, x, x_letters) + axis_commands('y', chart.y, y, y_letters);
}

std::string upright_commands(const Series& series) {
  std::string out;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const std::string at = fmt::format("{:.9g}", series.x[i]);
    out += fmt::format("set arrow from {0}, graph 0 to {0}, graph 1 nohead dt 2 lc rgb ink\n", at);
    if (i < series.labels.size())
      out += fmt::format("set tmargin 2\nset label \"{}\" at {}, graph 1.05 center tc rgb ink\n",
                         series.labels[i], at);
  }
  return out;
}

/// x, y, low and high of every k-th point and of the last one, so that a picture stays small.
std::string data_of(const Series& series) {
  std::string out;
  const std::size_t count = std::min(series.x.size(), series.y.size());
  const std::size_t most = series.draw == Draw::points ? marks_max : line_points_max;
  const std::size_t step = (count + most - 1) / most;
  for (std::size_t i = 0; i < count; i += step) {
    const std::size_t at = i + step >= count ? count - 1 : i;
    if (!std::isfinite(series.x[at]) || !std::isfinite(series.y[at])) continue;
    out += fmt::format("{:.9g} {:.9g}", series.x[at], series.y[at]);
    if (!series.low.empty()) out += fmt::format(" {:.9g} {:.9g}", series.low[at], series.high[at]);
    out += '\n';
  }
  return out;
}

/// How gnuplot draws the data block $dINDEX. Kernels that agree overlap, so each further mark of
/// joined points is smaller.
std::string plot_of(const Series& series, std::size_t index) {
  const std::string line = fmt::format("lw 1.5 lc rgb \"{}\"", colour_of(series));
  const std::string mark = fmt::format("pt {} {}", gnuplot_marks[series.style.mark], line);
  std::string how = "points ps 1.1 " + mark;
  if (!series.low.empty()) how = "xerrorbars ps 0.8 " + mark;
  if (series.draw == Draw::line) how = "lines " + line + (series.style.mark == 0 ? "" : " dt 2");
  if (series.draw == Draw::joined)
    how = fmt::format("linespoints ps {:.2f} pi {} {}",
                      std::max(0.35, 1.3 - 0.2 * static_cast<double>(index)),
                      1 + series.x.size() / marks_max, mark);
  if (series.draw == Draw::band)
    return fmt::format(
        "$d{0} using 1:3:4 with filledcurves {1} fs solid 0.5 noborder, "
        "$d{0} using 1:2 with lines dt 2 lw 1.5 lc rgb ink",
        index, line);
  return fmt::format("$d{} with {}", index, how);
}

/// Empty if there is nothing to draw. A picture for a file has a background, and leaves
/// `legend_height` pixels free at its bottom.
std::string script_of(const Chart& chart, int legend_height = 0) {
  std::string data, plots, commands;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    if (series.draw == Draw::upright) commands += upright_commands(series);
    const std::string points = data_of(series);
    if (points.empty()) continue;
    data += fmt::format("$d{} << EOD\n{}EOD\n", i, points);
    plots += (plots.empty() ? "plot " : ", ") + plot_of(series, i);
  }
  if (plots.empty()) return "";
  for (const ChartBox& box : chart.boxes)
    commands += fmt::format(
        "set object rectangle from {:.9g}, {:.9g} to {:.9g}, {:.9g} behind clip "
        "fc rgb \"{}\" fs solid 0.5 noborder\n",
        box.x_low, box.y_low, box.x_high, box.y_high, band_colour);
  constexpr int frame_lines = 5;  // the height of the x axis
  const int rows = static_cast<int>(chart.rows.size());
  const int height = rows == 0 ? picture_height : line_height * (rows + frame_lines);
  const double share = 1.0 * height / (height + legend_height);
  return fmt::format(
             "set encoding utf8\nset terminal svg size {},{} fixed font \"sans-serif,{}\"{}\n"
             "set size 1, {:.6f}\nset origin 0, {:.6f}\nset key off\nink = \"{}\"\n"
             "set border 3 lc rgb ink\nset tics nomirror textcolor rgb ink\n"
             "set grid ytics lc rgb \"#dde1e7\" dt solid\n",
             picture_width, height + legend_height, font_size,
             legend_height > 0 ? " background \"#ffffff\"" : "", share, 1 - share, grey_colour) +
         axes_of(chart) + commands + data + plots + "\n";
}

/// Takes out what draws nothing, which is half of gnuplot's document: white space, titles of its
/// own, attributes that repeat those of the first element, empty elements, and marks of no series.
std::string lean(std::string svg) {
  static const std::pair<std::regex, const char*> rules[] = {
      {std::regex("\\s+"), " "},
      {std::regex("<(title|desc|filter)[^]*?</\\1>"), ""},
      {std::regex(" (font-family=.sans-serif.|font-size=.14(.00?)?.|stroke-linecap=.butt.|"
                  "stroke-linejoin=.miter.|fill=.none.|color=.black.|stroke=.currentColor.|"
                  "stroke-width=.1.00.|class=.gridline.|id=.gnuplot_\\w+.)"),
       ""},
      {std::regex(" ?('?/?>)\\s*"), "$1"},
      {std::regex("\\s+<"), "<"},
      {std::regex("rgb\\( *(\\d+), *(\\d+), *(\\d+)\\)"), "rgb($1,$2,$3)"},
      {std::regex("<path [^>]*'M[^ ]*'/>|<tspan [^>]*></tspan>"), ""},
      {std::regex("<rect x=.0. y=.0. "), "<rect stroke=\"none\" "},
      {std::regex("<text><tspan>([^<]*)</tspan></text>"), "<text>$1</text>"},
      {std::regex("<g[^>]*></g>"), ""},
      {std::regex("^<svg"),
       "<svg fill=\"none\" stroke=\"currentColor\" "
       "font-family=\"sans-serif\" font-size=\"14\""}};
  for (const auto& [what, with] : rules) svg = std::regex_replace(svg, what, with);
  for (int mark = 15; mark >= 0; --mark) {  // a mark may use an earlier one
    const std::string name = fmt::format("gpPt{}'", mark);
    if (svg.find('#' + name) == std::string::npos)
      svg = std::regex_replace(svg, std::regex("<\\w+ [^<]*id='" + name + "[^>]*>"), "");
  }
  return svg;
}

Picture draw(const std::string& script, const std::string& program) {
  if (script.empty()) return {"", "there is no finite point to draw"};
  const ProgramOutput output =
      run_program({program.empty() ? "gnuplot" : program, "-d", "-"}, script);
  if (!output.error.empty()) return {"", "gnuplot " + clean_line(output.error)};
  const std::size_t begin = output.text.find("<svg"), end = output.text.rfind("</svg>");
  if (begin == std::string::npos || end == std::string::npos)
    return {"", "gnuplot drew no whole picture"};
  return {lean(output.text.substr(begin, end + 6 - begin)), ""};
}

}  // namespace

std::string row_label(const std::string& name, std::size_t number) {
  const bool plain = !name.empty() && name.size() <= 44 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" ._-/()").find(c) != std::string_view::npos;
  });
  if (!plain) return fmt::format("no. {}", number);
  return name.size() <= row_letters_max ? name : name.substr(0, row_letters_max - 2) + "..";
}

std::string binary_size(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; unit < 4 && bytes >= 1024; ++unit) bytes /= 1024;
  return fmt::format("{:g} {}", bytes, units[unit]);
}

std::vector<LegendEntry> legend_of(const Chart& chart) {
  std::vector<LegendEntry> legend;
  for (const Series& series : chart.series) {
    std::string css_class = series.draw == Draw::band ? "band" : "mark";
    if (series.style.colour != grey) css_class = fmt::format("s{}", series.style.colour);
    if (!series.name.empty())
      legend.push_back({series.name, series.note, css_class, symbol_of(series)});
  }
  return legend;
}

Picture draw_chart(const Chart& chart, const std::string& program) {
  return draw(script_of(chart), program);
}

std::string image_element(const Chart& chart, const Picture& picture) {
  std::string data;
  for (const char c : picture.svg)
    data += c == '%'   ? "%25"
            : c == '#' ? "%23"
            : c == '&' ? "%26"
            : c == '"' ? "'"
                       : std::string(1, c);
  return fmt::format("<img class=\"chart\" alt=\"{}\" src=\"data:image/svg+xml,{}\">",
                     xml_text(chart.title), data);
}

std::string chart_css() {
  std::string css = fmt::format("\n.swatch {{ color: {}; }} .swatch.band {{ color: {}; }}\n",
                                grey_colour, band_colour);
  for (std::size_t i = 0; i < series_colours.size(); ++i)
    css += fmt::format(".swatch.s{} {{ color: {}; }}\n", i, series_colours[i]);
  return css + fmt::format(
                   "@media screen and (prefers-color-scheme: dark) {{\n"
                   "  .chart, .swatch {{ {}; }}\n}}\n",
                   dark_filter);
}

std::string picture_file(const Chart& chart) {
  std::string legend;
  int height = picture_height;
  for (const Series& series : chart.series)
    legend += fmt::format(
        "<text x=\"16\" y=\"{}\" stroke=\"none\" fill=\"#171c24\"><tspan fill=\"{}\">{}</tspan> {}"
        "</text>\n",
        (height += line_height) - line_height / 2, colour_of(series), symbol_of(series),
        xml_text(series.name));
  Picture picture = draw(script_of(chart, height - picture_height + line_height / 2), "");
  if (!picture.error.empty()) throw std::runtime_error(picture.error);
  picture.svg.insert(picture.svg.rfind("</svg>"), legend);
  picture.svg.insert(
      picture.svg.find('>') + 1,
      fmt::format(
          "\n<title>{}</title>\n<style>@media (prefers-color-scheme: dark) {{ svg {{ {}; }} "
          "}}</style>\n",
          xml_text(chart.title), dark_filter));
  return picture.svg + "\n";
}

}  // namespace ropewalk::report
