// Line charts as SVG, drawn by gnuplot. Nothing foreign enters a gnuplot script: series are
// numbered there and named in the page beside the picture.
#pragma once
#include <string>
#include <vector>

namespace ropewalk {

struct ChartSeries {
  std::vector<double> x, y;  ///< equally many; what is not finite is left out
  bool line = false;         ///< a line, otherwise points
};

struct ChartRequest {
  std::string id;                   ///< [a-z0-9]+, unique in a page
  std::string title;                ///< ours, not foreign: becomes the picture's accessible name
  std::string x_label, y_label;     ///< ours as well
  std::vector<ChartSeries> series;  ///< at most chart_series_max are drawn
};

inline constexpr std::size_t chart_series_max = 8;

/// Either a picture or, in one line, why there is none.
struct Chart {
  std::string svg;  ///< an <svg> element to stand in a page; series i is coloured var(--series-i)
  std::string error;
};

/// Runs gnuplot (the one found when this was built, or `program`), at most ten seconds.
Chart draw_chart(const ChartRequest& request, const std::string& program = {});

}  // namespace ropewalk
