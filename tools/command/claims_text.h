// What bench prints about its rows on a terminal: speeds, claims with their intervals, and the
// noise floor.
#pragma once
#include <string>

#include "reports/numbers/claims.h"

namespace ropewalk::tools {

/// A table for each workload and board, and then whether the run is valid.
std::string claims_as_text(const report::Claims& claims);

}  // namespace ropewalk::tools
