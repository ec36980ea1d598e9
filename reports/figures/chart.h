// Charts as SVG, drawn by gnuplot. Nothing foreign enters a gnuplot script: series are
// numbered there and named in the page beside the picture.
#pragma once
#include <string>
#include <vector>

namespace ropewalk::report {

enum class Draw { line, points, joined };  ///< joined: points with a line through them

struct ChartSeries {
  std::vector<double> x, y;  ///< equally many; what is not finite is left out
  Draw draw = Draw::points;
  std::vector<double> x_low = {}, x_high = {};  ///< as many as x: bars beside the points
};

/// What lies between two curves, with a line in its middle.
struct ChartBand {
  std::vector<double> x, low, middle, high;
};

/// A place on the x axis: a tick, or a line from top to bottom with its name above.
struct ChartPlace {
  double x = 0;
  std::string label;  ///< ours, not foreign; gnuplot's ^{} raises
};

/// A grey box between two x and two y; all x above 0 where the axis is logarithmic.
struct ChartBox {
  double x_low = 0, x_high = 0, y_low = 0, y_high = 0;
};

/// from_zero: logarithmic, but 0 has a place (log(1 + x)).
enum class Scale { linear, logarithmic, from_zero };

struct ChartRequest {
  std::string id;                ///< [a-z0-9]+, unique in a page
  std::string title;             ///< ours, not foreign: becomes the picture's accessible name
  std::string x_label, y_label;  ///< ours as well
  Scale x_scale = Scale::linear;
  std::vector<ChartPlace> x_ticks;  ///< empty: gnuplot's choice; thinned out where it is narrow
  std::vector<ChartPlace> x_marks;
  std::vector<ChartBox> boxes;     ///< behind everything
  std::vector<ChartPlace> y_rows;  ///< names of rows in place of a y axis, by their y, from the top
  Scale y_scale = Scale::linear;   ///< logarithmic only where all y are above 0
  double y_floor = 0;              ///< above 0: logarithmic from here, labelled with powers of ten
  std::vector<ChartSeries> series;  ///< at most chart_series_max are drawn
  ChartBand band;                   ///< behind them; may be empty
};

/// Pixels at which text has its natural size; css scales a picture with the page. The narrow one is
/// as wide as a phone leaves room for, with text as large as the page's.
struct ChartSize {
  const char* css_class;
  int width, height, font;
};
inline constexpr ChartSize wide_chart{"wide", 860, 360, 13}, narrow_chart{"narrow", 312, 330, 16};

/// The same, as high as its rows need.
ChartSize sized_for(const ChartRequest& request, ChartSize size);

inline constexpr std::size_t chart_series_max = 8;

/// Either a picture or, in one line, why there is none.
struct Chart {
  std::string svg;  ///< an <svg> element to stand in a page; series i is coloured var(--series-i)
  std::string error;
};

/// Runs gnuplot (the one found when this was built, or `program`), at most ten seconds.
Chart draw_chart(const ChartRequest& request, ChartSize size = wide_chart,
                 const std::string& program = {});

/// "gnuplot 5.4 patchlevel 4", or "no gnuplot": pictures of two versions differ.
std::string gnuplot_version(const std::string& program = {});

}  // namespace ropewalk::report
