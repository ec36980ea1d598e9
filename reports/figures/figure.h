// A chart with everything that a report says about it, computed from the rows. HTML shows a picture
// and a table, Markdown a table.
#pragma once
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {

struct FigureTable {
  std::vector<std::string> columns;  ///< the first column names the lines
  std::vector<std::vector<std::string>> lines;
};

/// Explains one colour, mark or line of the picture.
struct LegendItem {
  std::string name, note;
  std::string css_class;  ///< s0 .. s11 as in the picture, or band, or mark: grey
  std::string symbol;
};

struct Figure {
  ChartRequest picture;             ///< the caller that shows the picture sets its id
  std::string name;                 ///< foreign; shown beside the title
  std::string how_to_read;          ///< written in this program
  std::vector<LegendItem> legend;   ///< holds foreign names
  std::vector<std::string> absent;  ///< foreign: what the picture leaves out, and why
  FigureTable table;                ///< all numbers, also those that the picture leaves out
};

/// The legend's line for a series, with the colour and mark that draw_chart gives it.
LegendItem legend_item(const ChartSeries& series, std::string name, std::string note);

/// Foreign names with other letters than these are replaced by a number, so that gnuplot never sees
/// them.
std::string row_label(const std::string& name, std::size_t number);

/// The model of a workload: "llama-3-8b/set-16" gives "llama-3-8b".
std::string model_of(const std::string& workload);

}  // namespace ropewalk::report
