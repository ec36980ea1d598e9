// Numbers of 100 decimal digits, which are 334 bits, for what must be the nearest double. A result
// of a few operations is off by less than 2^-310 of itself. Rounding it once to double is then
// right unless it lies that close to the middle of two doubles. The numbers lie on the stack,
// without expression templates.
#pragma once
#include <boost/multiprecision/mpfr.hpp>
#include <cstdint>
#include <vector>

namespace ropewalk {

using Real = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<100, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;

/// theta^(-2i / dim) for the first `pairs` pairs.
inline std::vector<Real> real_frequencies(const Real& theta, std::int64_t dim, std::int64_t pairs) {
  std::vector<Real> out;
  for (std::int64_t i = 0; i < pairs; ++i) out.push_back(pow(theta, Real(-2 * i) / Real(dim)));
  return out;
}

inline std::vector<double> rounded(const std::vector<Real>& values) {
  std::vector<double> out;
  for (const Real& value : values) out.push_back(value.convert_to<double>());
  return out;
}

/// How often a pair of this frequency turns in so many positions.
inline Real turns_in(double positions, const Real& frequency) {
  return positions * frequency / (2 * boost::math::constants::pi<Real>());
}

}  // namespace ropewalk
