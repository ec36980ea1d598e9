// Curves of the decay bound for the report, of the reference and of kernels.
#pragma once
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// B(D) of the reference and of each kernel named in `kernels`, for the pairing and type that the
/// kernel offers first.
std::vector<report::CurveRow> decay_curves(harness::Worker& worker, Oracle& oracle,
                                           const std::vector<std::string>& kernels);

}  // namespace ropewalk::properties
