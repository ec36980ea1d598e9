// The oracle in double, which judges f32 data at billions of positions.
//
// e^(i m f) = e^(i b f) * e^(i k f) * e^(i j f), with b the multiple of 2^15 at or below m, k a
// multiple of 32 and j = m - b - k < 32. All factors come from the oracle and are rounded once to
// double, so each is off by at most 2^-53 / sqrt(2). Each of the two complex products adds
// sqrt(5) 2^-53 (reference/bounds.h). Together the error is below 7 * 2^-53; `error` below states
// 2^-50, which is 2^-25 of the 2 u of f32 that is judged. The first product serves 32 positions,
// and the rows of j stay in the first level of cache. An f32 angle goes through libm's cos and sin
// of a double, which glibc keeps below 1 ulp (2^-52). A value near a bound or near the worst so far
// is computed again with exact().
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reference/oracle.h"

namespace ropewalk {

class DoubleRotations {
 public:
  static constexpr std::int64_t span = 32;             ///< positions of one first product
  static constexpr std::int64_t spans_of_base = 1024;  ///< of one value asked of the oracle
  static constexpr double error = 0x1p-50;             ///< largest error of the product of a row

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

  /// A fingerprint of the frequencies and of every row of the exact tables.
  std::string fingerprint();

 private:
  void fill_rows(std::int64_t step, std::size_t count, std::vector<double>& cos,
                 std::vector<double>& sin);
  void take_span(std::int64_t span_from);
  void fill_f32_angles(std::int64_t position);

  std::vector<double> inv_freq_;
  bool f32_angle_;
  Oracle oracle_;
  std::vector<double> low_cos_, low_sin_;    // [span, pairs]
  std::vector<double> span_cos_, span_sin_;  // [spans_of_base, pairs], of multiples of span
  std::vector<double> far_cos_, far_sin_;    // [pairs], of position far_
  std::vector<double> base_cos_, base_sin_;  // [pairs], of position base_
  std::int64_t far_ = 1, base_ = 1;          // not a multiple of span: no row yet
};

}  // namespace ropewalk
