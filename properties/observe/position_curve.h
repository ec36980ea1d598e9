// How far kernels are from the truth, over the position.
#pragma once
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// For each kernel named in `kernels`, at positions 0, 2^0, 2^1, ... 2^30, 2^31 - 1: the largest
/// error of a pair against the real rotation, relative to |x|, whatever the kernel's own angles.
std::vector<report::CurveRow> position_curves(harness::Worker& worker, Oracle& oracle,
                                              const std::vector<std::string>& kernels);

}  // namespace ropewalk::properties
