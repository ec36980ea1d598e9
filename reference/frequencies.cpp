#include "reference/frequencies.h"

#include <cmath>

#include "reference/real.h"

namespace ropewalk {

// The power cannot lie exactly in the middle of two doubles: a dyadic r = theta^(-p/q) has
// theta^p = r^-q, dyadic too, so r is a power of two.
std::vector<double> inverse_frequencies(double rope_theta, std::int64_t rotary_dim) {
  return rounded(real_frequencies(rope_theta, rotary_dim, rotary_dim / 2));
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
