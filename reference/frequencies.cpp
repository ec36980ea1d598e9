#include "reference/frequencies.h"

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace ropewalk {
namespace {

// 100 decimal digits are 334 bits, so the power is off by at most 2^-320 of itself. Rounding it
// once to double is correct unless it lies that close to the middle of two doubles. It cannot lie
// exactly on a middle: a dyadic r = theta^(-p/q) has theta^p = r^-q, dyadic too, so r is a power of
// two.
using Real = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<100, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;

std::vector<double> compute_inverse_frequencies(double rope_theta, std::int64_t rotary_dim) {
  const Real base = rope_theta;
  std::vector<double> inv_freq;
  inv_freq.reserve(static_cast<std::size_t>(rotary_dim / 2));
  for (std::int64_t i = 0; i < rotary_dim / 2; ++i) {
    const Real exponent = Real(-2 * i) / Real(rotary_dim);
    inv_freq.push_back(pow(base, exponent).convert_to<double>());
  }
  return inv_freq;
}

// 64 powers take 1 ms, and a run asks for the same few hundred again and again.
constexpr std::size_t most_kept = 4096;

}  // namespace

std::vector<double> inverse_frequencies(double rope_theta, std::int64_t rotary_dim) {
  thread_local std::map<std::pair<double, std::int64_t>, std::vector<double>> kept;
  const auto key = std::pair(rope_theta, rotary_dim);
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  if (kept.size() >= most_kept) kept.clear();
  return kept[key] = compute_inverse_frequencies(rope_theta, rotary_dim);
}

std::vector<double> inverse_frequencies_f32(double rope_theta, std::int64_t rotary_dim) {
  const float base = static_cast<float>(rope_theta);
  std::vector<double> inv_freq;
  inv_freq.reserve(static_cast<std::size_t>(rotary_dim / 2));
  for (std::int64_t i = 0; i < rotary_dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
    const float inverse = 1.0F / std::pow(base, exponent);  // the float overload calls powf
    inv_freq.push_back(static_cast<double>(inverse));
  }
  return inv_freq;
}

void free_thread_caches() {
  mpfr_free_cache();
}

}  // namespace ropewalk
