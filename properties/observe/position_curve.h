// How far kernels are from the truth, as a function of the position.
#pragma once
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// Runs each kernel named in `kernels` at positions 0, 2^0, 2^1, ... 2^30, 2^31 - 1. The value is
/// the largest error of a pair against the exact rotation, relative to |x|, whatever the kernel's
/// own angles are.
std::vector<report::CurveRow> position_curves(harness::Worker& worker, Oracle& oracle,
                                              const std::vector<std::string>& kernels);

}  // namespace ropewalk::properties
