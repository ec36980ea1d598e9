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

/// The charts of the curve rows, in order of appearance.
std::vector<Figure> curve_figures(const Results& results);

/// GB/s over the working set, beside the ceiling: one for each model, pairing, dtype and placement
/// that was timed in phase working_set. Speeds as the leaderboards give them.
std::vector<Figure> working_set_figures(const Results& results, const Summary& summary);

/// Ratios to the baseline with their intervals, one picture a board, the null twin among them.
std::vector<Figure> forest_figures(const Summary& summary);

/// Accuracy against speed: one for each pairing, dtype and placement, kernels of all angle sources.
std::vector<Figure> trade_figures(const Results& results, const Summary& summary);

/// "half_split / f32 / in place / table" without its angle source.
std::string without_angles(const std::string& board);

/// "L1d 48 KiB (cpus 0), ..., L2 1 MiB" as data caches with their sizes in bytes, smallest first.
struct Cache {
  std::string name;
  double bytes = 0;
};
std::vector<Cache> caches_of(const std::string& environment_text);

/// The legend's line of series i, coloured and marked as draw_chart does it.
LegendItem legend_item(std::size_t index, const ChartSeries& series, std::string name,
                       std::string note);

}  // namespace ropewalk::report
