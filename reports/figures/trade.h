// Pictures of what accuracy costs.
#pragma once
#include <vector>

#include "reports/figures/colours.h"
#include "reports/figures/figure.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// Accuracy against speed, with one picture for each pairing, dtype and placement. Each holds the
/// kernels of all angle sources.
std::vector<Figure> trade_figures(const Results& results, const Summary& summary,
                                  const KernelColours& colours);

}  // namespace ropewalk::report
