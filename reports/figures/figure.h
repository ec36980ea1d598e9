// The charts of a report, made from its rows. What a page needs of a Chart: its texts, table and
// absent names, legend_of(), image_element() of draw_chart(), and chart_css() in its style.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// One colour and mark for each kernel, the same in all charts of a page.
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

/// The model of a workload: "llama-3-8b/set-16" gives "llama-3-8b".
std::string model_of(const std::string& workload);

/// GB/s over the working set, beside the ceiling. There is one chart for each model, pairing,
/// dtype and placement that was timed in phase working_set.
std::vector<Chart> working_set_charts(const Results& results, const Summary& summary,
                                      const KernelColours& colours);

/// Parses "L1d 48 KiB (cpus 0), ..., L2 1 MiB" into data caches with their sizes in bytes, smallest
/// first.
struct Cache {
  std::string name;
  double bytes = 0;
};
std::vector<Cache> caches_of(const std::string& environment_text);

/// Ratios to the baseline with their intervals, including the null twin. There is one chart a
/// board.
std::vector<Chart> forest_charts(const Summary& summary, const KernelColours& colours);

/// The largest measured error of each kernel over its time, one chart for each pairing, dtype and
/// placement.
std::vector<Chart> trade_charts(const Results& results, const Summary& summary,
                                const KernelColours& colours);

/// The charts of the curves that a run writes.
std::vector<Chart> curve_charts(const Results& results, const KernelColours& colours);

}  // namespace ropewalk::report
