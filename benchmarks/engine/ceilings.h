// Ceilings: what memory allows, measured in the same run and on the same buffers as the kernels.
//
// In place, the ceiling is an update: y = a x reads and writes the same lines. Out of place it is a
// copy. The best variant is chosen before the samples are taken, and only its samples are reported.
// To pick the smallest of many samples would flatter the ceiling. The paired engine chooses in one
// process and measures in others. The engine gbench chooses in a short trial.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/api/types.h"

namespace ropewalk::bench {

/// Rows of one tensor. Row r has `row_elements` values, from in + r * row_stride to out + r *
/// row_stride.
struct CeilingSpan {
  const void* in;
  void* out;  ///< equal to in for an update
  std::int64_t rows, row_elements, row_stride;
};

struct CeilingVariant {
  std::string name;  ///< e.g. "avx2, prefetch"
  void (*pass)(const CeilingSpan& span);
};

/// The variants that this processor can run, after the mask of kernels/api/cpu_features.h; never
/// empty. An update changes the sign, by a multiplication, or of 16-bit data by an exclusive-or: it
/// moves what a rotation moves, and repeating it does not drift.
std::vector<CeilingVariant> update_variants(Dtype dtype);
std::vector<CeilingVariant> copy_variants(Dtype dtype);

/// The variant with the smallest median over short interleaved trials. A variant takes about 1 ms,
/// or longer if one pass takes longer.
const CeilingVariant& pick_fastest(const std::vector<CeilingVariant>& variants,
                                   const std::vector<CeilingSpan>& spans);

}  // namespace ropewalk::bench
