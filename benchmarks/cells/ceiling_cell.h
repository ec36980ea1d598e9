// The cell that calls a ceiling.
#pragma once
#include <memory>
#include <string>

#include "benchmarks/cells/cells.h"

namespace ropewalk::bench {

/// 'ceiling_update' for a workload in place, 'ceiling_copy' for one out of place. Its board names
/// no angle source, so it belongs to every board of its workload. `variant` names the loop; without
/// one the cell is skipped.
std::unique_ptr<Cell> make_ceiling_cell(const Workload& workload, LazyData& data,
                                        const std::string& variant);

}  // namespace ropewalk::bench
