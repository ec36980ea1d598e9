// To which kernel, memory and group the rows of a launch belong.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::tools {

/// The kernel of a label KERNEL|WORKLOAD. For a twin, it is the original.
std::string kernel_of_label(const std::string& label);
/// ROPE_HOST or ROPE_CUDA, by the board.
std::int32_t memory_of(const report::TimingRow& row);
std::string group_of(const report::TimingRow& row);
/// The groups with all their rows, by launch and name. A group ends with its ceiling's row. A group
/// that was cut off, or that a broken kernel led, was measured again, so the last row of each name
/// counts.
std::map<std::pair<std::int64_t, std::string>, std::vector<report::TimingRow>> whole_groups(
    const std::vector<report::TimingRow>& measured);

}  // namespace ropewalk::tools
