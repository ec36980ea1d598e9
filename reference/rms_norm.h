// The definition of RMS norm (Zhang and Sennrich, arXiv:1910.07467, eq. 4), with epsilon as models
// add it: v = w x / sqrt(mean(x^2) + epsilon).
#pragma once
#include <cmath>
#include <cstdint>

#include "reference/double_double.h"

namespace ropewalk {

/// 1 / sqrt(sum / count + epsilon), of the sum of `count` squares. Relative error below 2^-98, as
/// the step of Newton squares the error 2^-52 of double. Range: the radicand in 2^-900 .. 2^900.
inline DoubleDouble inverse_rms(const DoubleDouble& sum, std::int64_t count, double epsilon) {
  const DoubleDouble radicand =
      sum / DoubleDouble(static_cast<double>(count)) + DoubleDouble(epsilon);
  const DoubleDouble guess(1 / std::sqrt(static_cast<double>(radicand)));
  const DoubleDouble left = DoubleDouble(1) - radicand * guess * guess;
  return guess + guess * left * DoubleDouble(0.5);
}

}  // namespace ropewalk
