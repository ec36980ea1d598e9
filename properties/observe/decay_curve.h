// How the bound on decay looks, and what kernels show.
#pragma once
#include <string>
#include <vector>

#include "harness/worker/worker.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::properties {

/// B(D) of the reference and of each kernel named in `kernels` (the pairing and type it offers
/// first).
std::vector<report::CurveRow> decay_curves(harness::Worker& worker, Oracle& oracle,
                                           const std::vector<std::string>& kernels);

}  // namespace ropewalk::properties
