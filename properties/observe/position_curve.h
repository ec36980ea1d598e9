// How far kernels are from the truth, as a function of the position.
#pragma once
#include <string>
#include <vector>

#include "harness/worker/own_workers.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// Runs each of `kernels` at positions 0, 2^0, 2^1, ... 2^30, 2^31 - 1. The value is
/// the largest error of a pair against the exact rotation, relative to |x|, whatever the kernel's
/// own angles are.
std::vector<report::CurveRow> position_curves(harness::OwnWorkers& workers, Oracle& oracle,
                                              const std::vector<harness::KernelFacts>& kernels);

}  // namespace ropewalk::properties
