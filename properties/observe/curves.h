// Curves for the report.
#pragma once
#include <vector>

#include "harness/worker/own_workers.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// B(D) of the decay bound, of the reference and of each of `kernels`, for half_split and f32.
std::vector<report::CurveRow> decay_curves(harness::OwnWorkers& workers, Oracle& oracle,
                                           const std::vector<harness::KernelFacts>& kernels);

/// Runs each of `kernels` at positions 0, 2^0, 2^1, ... 2^30, 2^31 - 1. The value is
/// the largest error of a pair against the exact rotation, relative to |x|, whatever the kernel's
/// own angles are.
std::vector<report::CurveRow> position_curves(harness::OwnWorkers& workers, Oracle& oracle,
                                              const std::vector<harness::KernelFacts>& kernels);

}  // namespace ropewalk::properties
