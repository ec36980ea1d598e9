// Ceilings: what memory allows, measured like any contestant, in the same run, on the same buffers.
//
// In place the ceiling is an update (y = a x, reading and writing the same lines), out of place a
// copy. Which of the variants is best is decided before the samples are taken, and the samples of
// that one alone are reported: picking the smallest of many samples would flatter the ceiling. The
// paired engine picks in one process and scores in others; gbench in a short trial.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/api/types.h"

namespace ropewalk::bench {

/// Rows of one tensor: `row_elements` values at in + r * row_stride, to out + r * row_stride.
struct CeilingSpan {
  const void* in;
  void* out;  ///< equal to in for an update
  std::int64_t rows, row_elements, row_stride;
};

struct CeilingVariant {
  std::string name;  ///< e.g. "avx2, prefetch"
  void (*pass)(const CeilingSpan& span);
};

/// The variants this processor (after the mask of kernels/api/cpu_features.h) can run; never empty.
/// An update multiplies by -1: it moves what a rotation moves, and repeating it never drifts.
/// Of a type that is timed (with_timed_type).
std::vector<CeilingVariant> update_variants(Dtype dtype);
std::vector<CeilingVariant> copy_variants(Dtype dtype);

/// That such a variant exists, be it for another processor.
bool is_ceiling_variant(const std::string& name, bool in_place);

/// The variant with the smallest median over short interleaved trials (about 1 ms a variant, more
/// where one pass takes longer).
const CeilingVariant& pick_fastest(const std::vector<CeilingVariant>& variants,
                                   const std::vector<CeilingSpan>& spans);

}  // namespace ropewalk::bench
