// A second way to the same angles. It shares no code with the oracle: it uses another backend
// (cpp_bin_float, 500 bits), no tables and no angle addition. It also builds the d x d matrix of
// the paper.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/api/types.h"
#include "reference/oracle.h"

namespace ropewalk {

/// log2 |claimed - e^(i * position * inv_freq)|, computed at 500 bits. Returns -1000 for an exact
/// zero, and +infinity for a claim that is not finite.
/// Range: 0 <= inv_freq <= 2 pi.
double log2_error(double inv_freq, std::int64_t position, const Rotation& claimed);

/// The matrix R of RoFormer eq. 15 for one position, row-major [rotary_dim x rotary_dim].
/// Built from std::cos and std::sin of long double angles, so its error is about 1e-15 for small
/// positions. A value that is no enumerator of Pairing throws std::invalid_argument.
std::vector<double> dense_rotation(const std::vector<double>& inv_freq, std::int64_t position,
                                   Pairing pairing);

}  // namespace ropewalk
