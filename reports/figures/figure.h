// A chart with everything that a report says about it, computed from the rows. HTML shows a picture
// and a table, Markdown a table.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// One colour and mark for each kernel, the same in all figures of a page.
class KernelColours {
 public:
  KernelColours() = default;  ///< all grey
  /// In the order of the report's kernels: first those with a speed, then those with a curve
  /// alone. A baseline is grey on every board. From the 13th on, a colour comes again with another
  /// mark.
  KernelColours(const Results& results, const Summary& summary);
  /// Grey for other names, such as those of references and twins.
  SeriesStyle of(const std::string& kernel) const;

 private:
  std::map<std::string, SeriesStyle> styles_;
};

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
  bool is_folded = false;           ///< an illustration, which is shown on demand
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

/// GB/s over the working set, beside the ceiling. There is one picture for each model, pairing,
/// dtype and placement that was timed in phase working_set.
std::vector<Figure> working_set_figures(const Results& results, const Summary& summary,
                                        const KernelColours& colours);

/// Parses "L1d 48 KiB (cpus 0), ..., L2 1 MiB" into data caches with their sizes in bytes, smallest
/// first.
struct Cache {
  std::string name;
  double bytes = 0;
};
std::vector<Cache> caches_of(const std::string& environment_text);

/// Ratios to the baseline with their intervals, including the null twin. There is one picture a
/// board.
std::vector<Figure> forest_figures(const Summary& summary, const KernelColours& colours);

/// The largest measured error of each kernel over its time, one picture for each pairing, dtype and
/// placement.
std::vector<Figure> trade_figures(const Results& results, const Summary& summary,
                                  const KernelColours& colours);

/// The charts of the curves that a run writes.
std::vector<Figure> curve_figures(const Results& results, const KernelColours& colours);

}  // namespace ropewalk::report
