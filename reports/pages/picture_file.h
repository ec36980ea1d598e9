// A chart as a file of its own, for documents that show pictures and have no style.
#pragma once
#include <string>
#include <vector>

#include "reports/figures/chart.h"

namespace ropewalk::report {

/// An SVG document with a background and a legend below the chart, one line for each series. Its
/// colours are those of the report, and follow the reader's light or dark scheme. The same request
/// gives the same bytes with the same gnuplot. Throws std::runtime_error if gnuplot fails.
std::string picture_file(const ChartRequest& request, ChartSize size,
                         const std::vector<std::string>& names);

}  // namespace ropewalk::report
