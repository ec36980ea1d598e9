// Decay curves and errors over the position.
#pragma once
#include <vector>

#include "reports/figures/figure.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// The charts of the curve rows, in order of appearance.
std::vector<Figure> curve_figures(const Results& results);

}  // namespace ropewalk::report
