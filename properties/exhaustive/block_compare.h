// The fast half of the exhaustive check: could a position hold an error larger than the known
// worst? The compiler vectorizes it, for AVX-512 and AVX2 if the machine has them.
#pragma once
#include <cstdint>

#include "kernels/api/types.h"
#include "reference/double_rotations.h"

namespace ropewalk::properties {

/// One position: the outputs, the exact rotations, and the largest known errors.
struct BlockRow {
  const float* outputs;  ///< of heads e1, e2 and x, 2 * half elements each
  const float* x;        ///< the full-mantissa vector
  DoubleRotations::Row rotations;
  std::int64_t half;
  double block_limit, vector_limit;  ///< squares; below 0: every position is suspicious
};

/// True if for some pair |y - r e|^2 of a column is not <= block_limit, or |y - r x|^2 is not <=
/// vector_limit |x|^2. NaN is always suspicious. All versions compute the same, in double without
/// fused operations. Their relative error is at most 2^-50, beside the error of the rotations.
using Suspicious = bool (*)(const BlockRow&);

/// The fastest version for this machine and a pairing.
Suspicious suspicious_rows(Pairing pairing);
/// The version that runs on every machine.
Suspicious suspicious_rows_anywhere(Pairing pairing);

}  // namespace ropewalk::properties
