// The oracle in double, which judges f32 data at billions of positions.
//
// e^(i m f) = e^(i b f) * e^(i j f), with b the multiple of 1024 at or below m, and j = m - b. Both
// factors come from the oracle and are rounded once to double, so each is off by at most 2^-53 /
// sqrt(2). One complex product adds sqrt(5) 2^-53 (reference/bounds.h). Together the error is below
// 4 * 2^-53 = 2^-51, which is 2^-26 of the 2 u of f32 that is judged. error() below states 2^-50.
// An f32 angle goes through libm's cos and sin of a double, which glibc keeps below 1 ulp (2^-52).
// A value near a bound or near the worst so far is computed again with exact().
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reference/oracle.h"

namespace ropewalk {

class DoubleRotations {
 public:
  static constexpr std::int64_t span = 1024;
  static constexpr double error = 0x1p-50;  ///< largest error of the product of a row

  /// With `f32_angle`, the angle is the float position * (float)inv_freq, as
  /// ROPE_CONTRACT_F32_ANGLE defines it. Fills all tables.
  DoubleRotations(std::vector<double> inv_freq, bool f32_angle);

  /// One value for each pair. The rotation is (base_cos, base_sin) * (cos, sin).
  struct Row {
    const double *base_cos, *base_sin, *cos, *sin;
  };
  /// Range: position in [-2^31, 2^31). The row is valid until the next call.
  Row row(std::int64_t position);

  /// The same in double-double, better than 2^-100, with the same bits on every machine.
  Rotation exact(std::int64_t position, std::size_t pair);

  const std::vector<double>& inv_freq() const { return inv_freq_; }

  /// A fingerprint of the frequencies and of every row of the exact tables.
  std::string fingerprint();

 private:
  void take_base(std::int64_t base);
  void fill_f32_angles(std::int64_t position);

  std::vector<double> inv_freq_;
  bool f32_angle_;
  Oracle oracle_;
  std::vector<double> low_cos_, low_sin_;    // [span, pairs]
  std::vector<double> base_cos_, base_sin_;  // [pairs], of position base_
  std::int64_t base_ = 1;                    // not a multiple of span: no row yet
};

}  // namespace ropewalk
