// Pictures of kernels that ran on a device.
#pragma once
#include <vector>

#include "reports/figures/colours.h"
#include "reports/figures/figure.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {

/// In this order: the share of the ceiling over the tokens of prefill, the time of a call of decode
/// beside the floors, and host and device side by side.
std::vector<Figure> device_figures(const Summary& summary, const KernelColours& colours);

}  // namespace ropewalk::report
