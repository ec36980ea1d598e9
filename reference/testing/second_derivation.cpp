#include "reference/testing/second_derivation.h"

#include <Eigen/Core>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace ropewalk {
namespace {

namespace mp = boost::multiprecision;
using Real = mp::number<mp::cpp_bin_float<500, mp::digit_base_2>, mp::et_off>;

Real exact(const DoubleDouble& x) {
  return Real(x.hi) + Real(x.lo);
}

/// position * inv_freq, exact in 500 bits, less the nearest multiple of 2 pi. Without this
/// reduction the sine and cosine of this backend lose digits for large arguments. |angle| < 2^34
/// for inv_freq <= 2 pi, so the multiple is off by less than 2^-463 rad.
Real reduced_angle(double inv_freq, std::int64_t position) {
  static const Real full_turn = 2 * boost::math::constants::pi<Real>();
  const Real angle = Real(inv_freq) * Real(position);
  const Real turns = floor(angle / full_turn + Real(0.5));
  return angle - turns * full_turn;
}

/// The matrix of eq. 15 pairs neighbours. half_split is the same matrix with the elements in
/// another order. new_index[j] is the place of element j of the paper's order.
Eigen::PermutationMatrix<Eigen::Dynamic> element_order(Eigen::Index half, Pairing pairing) {
  Eigen::PermutationMatrix<Eigen::Dynamic> order(2 * half);
  order.setIdentity();
  for (int i = 0; i < static_cast<int>(half) && pairing == Pairing::half_split; ++i) {
    order.indices()[2 * i] = i;
    order.indices()[2 * i + 1] = static_cast<int>(half) + i;
  }
  return order;
}

}  // namespace

double log2_error(double inv_freq, std::int64_t position, const Rotation& claimed) {
  if (!std::isfinite(claimed.re.hi) || !std::isfinite(claimed.re.lo) ||
      !std::isfinite(claimed.im.hi) || !std::isfinite(claimed.im.lo))
    return std::numeric_limits<double>::infinity();
  const Real angle = reduced_angle(inv_freq, position);
  const Real real_part = exact(claimed.re) - cos(angle);
  const Real imaginary_part = exact(claimed.im) - sin(angle);
  const Real squared = real_part * real_part + imaginary_part * imaginary_part;
  if (squared == 0) return -1000;
  int exponent = 0;  // taken apart, as the square may lie below the range of double
  const Real mantissa = frexp(squared, &exponent);
  return (exponent + std::log2(mantissa.convert_to<double>())) / 2;
}

std::vector<double> dense_rotation(const std::vector<double>& inv_freq, std::int64_t position,
                                   Pairing pairing) {
  if (pairing != Pairing::interleaved && pairing != Pairing::half_split)
    throw std::invalid_argument("dense_rotation: unknown pairing");
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto half = static_cast<Eigen::Index>(inv_freq.size());
  Matrix paper = Matrix::Zero(2 * half, 2 * half);
  for (Eigen::Index i = 0; i < half; ++i) {
    const long double frequency = inv_freq[static_cast<std::size_t>(i)];
    const long double angle = static_cast<long double>(position) * frequency;
    const auto c = static_cast<double>(std::cos(angle));
    const auto s = static_cast<double>(std::sin(angle));
    paper.block<2, 2>(2 * i, 2 * i) << c, -s, s, c;
  }
  const auto order = element_order(half, pairing);
  std::vector<double> out(static_cast<std::size_t>(paper.size()));
  Eigen::Map<Matrix>(out.data(), 2 * half, 2 * half) = order * paper * order.transpose();
  return out;
}

}  // namespace ropewalk
