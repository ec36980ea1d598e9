// Which part of its range a process of verify --exhaustive judges.
#pragma once
#include <cstdint>
#include <string>

namespace ropewalk::tools {

/// Part i of n. The default is the whole range.
struct Shard {
  std::int64_t i = 1, n = 1;
  std::string taken_from;  ///< the variable that gave i, "PMI_RANK=2"; empty: the user gave it
};

/// Reads "i/n", 1 <= i <= n <= 65536, or "auto/n", where i comes from the one of these variables
/// that is set: SLURM_ARRAY_TASK_ID (counted from SLURM_ARRAY_TASK_MIN in steps of
/// SLURM_ARRAY_TASK_STEP), OMPI_COMM_WORLD_RANK, PMI_RANK or JOB_COMPLETION_INDEX (these three
/// begin at 0). Returns what is wrong with the text; an empty answer means that nothing is.
std::string read_shard(const std::string& text, Shard& shard);

}  // namespace ropewalk::tools
