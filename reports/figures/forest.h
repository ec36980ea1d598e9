// Intervals of ratios, a line a kernel.
#pragma once
#include <vector>

#include "reports/figures/figure.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {

/// Ratios to the baseline with their intervals, one picture a board, the null twin among them.
std::vector<Figure> forest_figures(const Summary& summary);

}  // namespace ropewalk::report
