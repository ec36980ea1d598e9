// Charts as SVG, drawn by gnuplot. No foreign name enters a gnuplot script: the script numbers the
// series, and the page names them beside the picture.
#pragma once
#include <string>
#include <vector>

namespace ropewalk::report {

enum class Draw { line, points, joined };  ///< joined: points with a line through them

/// Errors below this are drawn as this, as a logarithmic axis has no 0.
inline constexpr double error_floor = 1e-9;
inline constexpr int grey = -1, series_colours = 12, series_marks = 8;

/// The colour is var(--series-COLOUR), or grey. For a line, mark 0 is solid and others are dashed.
struct SeriesStyle {
  int colour = grey;  ///< below series_colours
  int mark = 0;       ///< below series_marks
};

struct ChartSeries {
  std::vector<double> x, y;  ///< of equal length; points that are not finite are left out
  Draw draw = Draw::points;
  std::vector<double> x_low = {}, x_high = {};  ///< empty, or as many as x: bars beside the points
  SeriesStyle style = {};
};

/// The area between two curves, with a line in its middle.
struct ChartBand {
  std::vector<double> x, low, middle, high;
};

/// A place on the x axis: either a tick, or a line from top to bottom with its name above.
struct ChartPlace {
  double x = 0;
  std::string label;  ///< from this program, never foreign; gnuplot's ^{} raises
};

/// A grey box between two x and two y. On a logarithmic axis all x must be above 0.
struct ChartBox {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
};

/// from_zero is logarithmic with a place for 0: log(1 + x).
enum class Scale { linear, logarithmic, from_zero };

struct ChartRequest {
  std::string id = {};                     ///< letters and digits, [a-z0-9]+, unique in a page
  std::string title = {};                  ///< never foreign; becomes the picture's accessible name
  std::string x_label = {}, y_label = {};  ///< never foreign
  Scale x_scale = Scale::linear;
  std::vector<ChartPlace> x_ticks = {};  ///< empty: gnuplot chooses; a narrow picture drops some
  std::vector<ChartPlace> x_marks = {};
  std::vector<ChartBox> boxes = {};  ///< drawn behind everything else
  /// Names of rows by their y, from the top, instead of a y axis.
  std::vector<ChartPlace> y_rows = {};
  Scale y_scale = Scale::linear;  ///< logarithmic only if all y are above 0
  /// Above 0 it gives a logarithmic axis from here, labelled with powers of ten.
  double y_floor = 0;
  std::vector<ChartSeries> series = {};
  ChartBand band = {};  ///< drawn behind the series; may be empty
};

/// Pixels at which text has its natural size; css scales a picture with the page. The narrow
/// picture fits the width of a phone, with text as large as the page's.
struct ChartSize {
  const char* css_class;
  int width, height, font;
};
inline constexpr ChartSize wide_chart{"wide", 860, 360, 13}, narrow_chart{"narrow", 312, 330, 16};

/// The same size, but as high as the request's rows need.
ChartSize sized_for(const ChartRequest& request, ChartSize size);

/// The most lines or kernels that a figure draws over an axis: more are hard to tell apart.
inline constexpr std::size_t chart_series_max = 8;

/// Either a picture, or one line that says why there is none.
struct Chart {
  std::string svg;  ///< an <svg> element for a page
  std::string error;
};

/// Runs gnuplot for at most 10 s: `program`, or else the gnuplot of PATH. Never
/// throws for a failure of gnuplot, which `error` states.
Chart draw_chart(const ChartRequest& request, ChartSize size = wide_chart,
                 const std::string& program = {});

}  // namespace ropewalk::report
