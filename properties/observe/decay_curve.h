// Curves of the decay bound for the report, of the reference and of kernels.
#pragma once
#include <string>
#include <vector>

#include "harness/worker/own_workers.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// B(D) of the reference and of each of `kernels`, for the pairing and type that the
/// kernel offers first.
std::vector<report::CurveRow> decay_curves(harness::OwnWorkers& workers, Oracle& oracle,
                                           const std::vector<harness::KernelFacts>& kernels);

}  // namespace ropewalk::properties
