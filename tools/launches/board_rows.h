// Checks a row of a board. It comes from the process in which kernels run, and the parent may be of
// another build.
#pragma once
#include <string>

#include "reports/record/record.h"
#include "tools/launches/board_request.h"

namespace ropewalk::tools {

/// Reads a row as the board sent it. Throws report::BadFile unless it is a row with names of the
/// request and with numbers that can be times and counts. The row's texts steer no terminal.
report::TimingRow board_row_from(const std::string& json, const BoardRequest& request);

}  // namespace ropewalk::tools
