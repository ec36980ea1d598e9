// The judge of heads that rope_norm marks: what they are, and every element of them.
#pragma once
#include <vector>

#include "harness/judge/judge.h"

namespace ropewalk::harness {

/// What the norm makes of one head, in real numbers.
struct NormalizedHead {
  std::vector<DoubleDouble> before_weight, values;  ///< x / rms and w x / rms, [head_dim]
  std::vector<double> weights;
  double factor = 1;        ///< 1 / rms
  bool is_finite = true;    ///< all inputs are
  bool is_promised = true;  ///< the sum of squares is small enough
};
NormalizedHead normalized(const GivenHead& head);

/// How far a kernel's normalized value may be from the real one, relative to it: the error of its
/// arithmetic, and that of the roundings to the data type that it declares. 0 without a norm.
double norm_error_of(const KernelFacts& facts, const Case& c, std::uint32_t tensor);
/// What a pair may lose beside it by underflow, on the way to its rotation.
double norm_lost_of(const KernelFacts& facts, const Case& c, std::uint32_t tensor);

/// Judges every element of a head, the pairs of its window by `rotations`, if it is rotated.
/// Where a declared rounding lies within the error of a tie, both neighbours are right.
void compare_normalized_head(const HeadRule& rule, const HeadView& head, const Rotation* rotations,
                             Tally& tally);

}  // namespace ropewalk::harness
