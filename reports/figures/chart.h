// One description of a chart gives its picture, its legend and its table. gnuplot draws the
// picture. No foreign name enters a gnuplot script: the page names the series beside the picture.
#pragma once
#include <array>
#include <string>
#include <vector>

namespace ropewalk::report {

/// joined: points with a line through them. band: the area between low and high, with a line y in
/// its middle. upright: a dashed line from top to bottom at each x.
enum class Draw { line, points, joined, band, upright };

/// Errors below this are drawn as this, as a logarithmic axis has no 0.
inline constexpr double error_floor = 1e-9;
/// The most lines or kernels that a chart draws over an axis: more are hard to tell apart.
inline constexpr std::size_t chart_series_max = 8;

/// Colours on white. A dark page inverts them and keeps their hue (chart_css).
inline constexpr std::array<const char*, 12> series_colours = {
    "#1f5fa8", "#b8520a", "#0b7d62", "#a32a80", "#7d6300", "#5f45b5",
    "#b02a20", "#0a7896", "#3d7a14", "#c7305f", "#7a4a2b", "#28348a"};
inline constexpr int grey = -1, series_marks = 8;

/// The colour is an index of series_colours, or grey. For a line, mark 0 is solid and others are
/// dashed.
struct SeriesStyle {
  int colour = grey;
  int mark = 0;  ///< below series_marks
};

struct Series {
  std::string name = {};  ///< foreign; empty: the legend does not name it
  std::string note = {};  ///< foreign
  Draw draw = Draw::points;
  SeriesStyle style = {};
  std::vector<double> x = {}, y = {};       ///< of equal length; what is not finite is left out
  std::vector<double> low = {}, high = {};  ///< of y for a band, of x for points; may be empty
  std::vector<std::string> labels = {};     ///< above uprights; from this program, never foreign
};

/// from_zero is logarithmic with a place for 0: log(1 + x).
enum class Scale { linear, logarithmic, from_zero };
/// What the ticks count: 1 2 5 10 20, or 1 KiB 4 KiB, or 2^0 2^4, or 10^0 10^1.
enum class Unit { number, bytes, power_of_two, power_of_ten };

struct Axis {
  std::string label = {};  ///< never foreign
  Scale scale = Scale::linear;
  Unit unit = Unit::number;  ///< gnuplot chooses the ticks of a linear axis
  double floor = 0;          ///< of a logarithmic axis: if above 0, it begins here
};

struct ChartPlace {
  double at = 0;
  std::string label;  ///< never foreign; gnuplot's ^{} raises
};

/// A grey box behind everything else.
struct ChartBox {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
};

struct FigureTable {
  std::vector<std::string> columns;  ///< the first column names the lines
  std::vector<std::vector<std::string>> lines;
};

struct Chart {
  std::string title = {};        ///< never foreign; also the picture's accessible name
  std::string name = {};         ///< foreign; shown beside the title
  std::string how_to_read = {};  ///< written in this program
  bool is_folded = false;        ///< an illustration, which is shown on demand
  Axis x = {}, y = {};
  std::vector<Series> series = {};  ///< the first is drawn behind the others
  /// Names by their y below 0, from the top, in place of a y axis. Made by row_label.
  std::vector<ChartPlace> rows = {};
  std::vector<ChartBox> boxes = {};
  std::vector<std::string> absent = {};  ///< foreign: what the picture leaves out, and why
  FigureTable table = {};                ///< all numbers, also those that the picture leaves out
};

/// Explains one colour, mark or line of the picture.
struct LegendEntry {
  std::string name, note;  ///< foreign
  std::string css_class;   ///< s0 .. s11 as in the picture, or mark: grey, or band
  std::string symbol;
};
std::vector<LegendEntry> legend_of(const Chart& chart);

/// The name, shortened. Foreign names with other letters than plain ones are replaced by a number,
/// so that gnuplot never sees them.
std::string row_label(const std::string& name, std::size_t number);

/// "4 MiB"
std::string binary_size(double bytes);

/// Either an SVG document, or one line that says why there is none.
struct Picture {
  std::string svg, error;
};

/// Runs gnuplot for at most 10 s: `program`, or else the gnuplot of PATH. Never throws for a
/// failure of gnuplot, which `error` states. The picture is narrow: at the width of a phone its
/// text is still large enough to read.
Picture draw_chart(const Chart& chart, const std::string& program = {});

/// The picture as an element of a page. Nothing in it can act on the page.
std::string image_element(const Chart& chart, const Picture& picture);

/// The style that pictures and legends need in a page: colours, and how a dark page changes them.
std::string chart_css();

/// A picture for a file of its own, with background and legend. It follows the reader's light or
/// dark scheme. Throws std::runtime_error if gnuplot fails.
std::string picture_file(const Chart& chart);

}  // namespace ropewalk::report
