// Charts of the decay curves and of the error over the position.
#pragma once
#include <vector>

#include "reports/figures/colours.h"
#include "reports/figures/figure.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// The charts of the curves that a run writes.
std::vector<Figure> curve_figures(const Results& results, const KernelColours& colours);

}  // namespace ropewalk::report
