// The forest plot: intervals of ratios, one line for each contestant.
#pragma once
#include <vector>

#include "reports/figures/colours.h"
#include "reports/figures/figure.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {

/// Ratios to the baseline with their intervals, including the null twin. There is one picture a
/// board.
std::vector<Figure> forest_figures(const Summary& summary, const KernelColours& colours);

}  // namespace ropewalk::report
