// The fast half of the exhaustive check: whether a position could hold anything worse than what is
// known. Vectorised by the compiler, for AVX-512 and AVX2 where the machine has them.
#pragma once
#include <cstdint>

#include "kernels/api/types.h"
#include "reference/double_rotations.h"

namespace ropewalk::properties {

/// One position: what was returned, what is true, and what is known to occur.
struct BlockRow {
  const float* outputs;  ///< of heads e1, e2 and x, 2 * half elements each
  const float* x;        ///< the full-mantissa vector
  DoubleRotations::Row rotations;
  std::int64_t half;
  double block_limit, vector_limit;  ///< squares; below 0: everything is suspicious
};

/// True where |y - r e|^2 of a column is not <= block_limit, or |y - r x|^2 not <= vector_limit
/// |x|^2 for some pair. NaN is always suspicious. All versions compute the same, in double without
/// fused operations: 2^-50 off at most, relatively, beside the error of the rotations.
using Suspicious = bool (*)(const BlockRow&);

/// The fastest version for this machine and a pairing.
Suspicious suspicious_rows(Pairing pairing);
/// The one that every machine has.
Suspicious suspicious_rows_anywhere(Pairing pairing);

}  // namespace ropewalk::properties
