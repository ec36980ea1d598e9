// Checks a row of a board, and says to which kernel, memory and group it belongs. It comes from the
// process in which kernels run, and the parent may be of another build.
#pragma once
#include <cstdint>
#include <string>

#include "reports/record/record.h"
#include "tools/launches/board_request.h"

namespace ropewalk::tools {

/// Reads a row as the board sent it. Throws report::BadFile unless it is a row with names of the
/// request and with numbers that can be times and counts. The row's texts steer no terminal.
report::TimingRow board_row_from(const std::string& json, const BoardRequest& request);

/// The kernel of a label KERNEL|WORKLOAD. For a twin, it is the original.
std::string kernel_of_label(const std::string& label);
/// ROPE_HOST or ROPE_CUDA, by the board.
std::int32_t memory_of(const report::TimingRow& row);
std::string group_of(const report::TimingRow& row);

}  // namespace ropewalk::tools
