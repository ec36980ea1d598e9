// Ceilings: what memory allows, measured in the same run and on the same buffers as the kernels.
//
// In place, the ceiling is an update, which reads and writes the same lines. Out of place it is a
// copy. The best variant is chosen before the samples are taken, and only its samples are reported.
// To pick the smallest of many samples would flatter the ceiling. It is chosen in one process
// and measured in others.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "benchmarks/ceilings/loops.h"
#include "kernels/api/types.h"

namespace ropewalk::bench {

/// The variants that this processor can run, after the mask of kernels/api/cpu_features.h; never
/// empty.
std::vector<CeilingLoop> update_loops();
std::vector<CeilingLoop> copy_loops();
/// Whether the stores of this variant bypass the caches, and so empty them of what they overwrite.
inline bool goes_past_caches(std::string_view variant) {
  return variant.ends_with("past the caches");
}

/// The bits of an update of this type: it turns over the sign of each element, by an exclusive-or.
/// So it moves what a rotation moves, and repeating it does not drift.
std::uint64_t sign_flips(Dtype dtype);

}  // namespace ropewalk::bench
