// A chart with all that a report says about it, worked out from the rows: a picture in HTML, a
// table in HTML and Markdown.
#pragma once
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {

struct FigureTable {
  std::vector<std::string> columns;  ///< the first is what the lines are named by
  std::vector<std::vector<std::string>> lines;
};

/// What explains one colour, mark or line of the picture.
struct LegendItem {
  std::string name, note;
  std::string css_class;  ///< s0 .. s7 as in the picture, or band, or mark
  std::string symbol;
};

struct Figure {
  ChartRequest picture;             ///< its id is given by who draws it
  std::string name;                 ///< foreign; beside the title
  std::string how_to_read;          ///< ours
  std::vector<LegendItem> legend;   ///< foreign names
  std::vector<std::string> absent;  ///< what is not in the picture, and why; foreign
  FigureTable table;                ///< everything, also what the picture has no room for
};

/// The legend's line of series i, coloured and marked as draw_chart does it.
LegendItem legend_item(std::size_t index, const ChartSeries& series, std::string name,
                       std::string note);

}  // namespace ropewalk::report
