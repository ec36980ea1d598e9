// The fast half of the exhaustive check: could a position hold an error larger than the known
// worst? The compiler vectorizes it, for AVX-512 and AVX2 if the machine has them.
#pragma once
#include <cstdint>

#include "kernels/api/types.h"
#include "reference/double_rotations.h"

namespace ropewalk::properties {

/// What may be skipped: |y - r x|^2 <= computed * |x|^2 + stored * s^2, where s^2 is the sum of the
/// squared half distances between numbers of the stored type (bounds::half_ulp) at the two exact
/// components. A negative `computed` makes every position suspicious.
struct SquaredLimit {
  double computed, stored;
};

/// One position: the outputs, the exact rotations, and the largest known errors.
struct BlockRow {
  const float* outputs;  ///< of heads e1, e2 and x, 2 * half elements each
  const float* x;        ///< the full-mantissa vector
  DoubleRotations::Row rotations;
  std::int64_t half;
  SquaredLimit block, vector;
  double stored_u, stored_least;  ///< of bounds::Precision; 0: results are stored as computed
};

/// True if for some pair a column of the block, or the full vector, is not within its limit. NaN is
/// always suspicious. Versions for a processor with fused operations use them. In double, the
/// relative error of what is compared is at most 2^-50, beside the error of the rotations.
using Suspicious = bool (*)(const BlockRow&);

/// The fastest version for this machine and a pairing, or the one that runs on every machine.
/// `stored`: for results that are rounded on store to a narrower type.
Suspicious suspicious_rows(Pairing pairing, bool stored, bool fastest = true);

}  // namespace ropewalk::properties
