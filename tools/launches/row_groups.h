// To which kernel, memory and group the rows of a launch belong.
#pragma once
#include <cstdint>
#include <string>

#include "reports/record/record.h"

namespace ropewalk::tools {

/// The kernel of a label KERNEL|WORKLOAD. For a twin, it is the original.
std::string kernel_of_label(const std::string& label);
/// ROPE_HOST or ROPE_CUDA, by the board.
std::int32_t memory_of(const report::TimingRow& row);
std::string group_of(const report::TimingRow& row);

}  // namespace ropewalk::tools
