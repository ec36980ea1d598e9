#include "reference/decay.h"

#include <algorithm>
#include <cstddef>

namespace ropewalk {
namespace {

/// Returns h_(i+1) - h_i, with h_n = 0.
std::complex<double> difference(const std::vector<std::complex<double>>& h, std::size_t i) {
  return (i + 1 < h.size() ? h[i + 1] : std::complex<double>{}) - h[i];
}

double magnitude_sum(const std::vector<std::complex<double>>& sums) {
  double total = 0;
  for (const std::complex<double>& s : sums) {
    total += std::abs(s);
  }
  return total;
}

}  // namespace

std::vector<std::complex<double>> prefix_sums(Oracle& oracle, const std::vector<double>& inv_freq,
                                              std::int64_t distance) {
  std::vector<std::complex<double>> sums;
  sums.reserve(inv_freq.size());
  Rotation total;
  for (const double frequency : inv_freq) {
    const Rotation r = oracle.at(frequency, distance);
    total = {total.re + r.re, total.im + r.im};
    sums.emplace_back(static_cast<double>(total.re), static_cast<double>(total.im));
  }
  return sums;
}

double mean_prefix_magnitude(const std::vector<std::complex<double>>& sums) {
  return magnitude_sum(sums) / static_cast<double>(sums.size());
}

double decay_bound(const std::vector<std::complex<double>>& h,
                   const std::vector<std::complex<double>>& sums) {
  double largest = 0;
  for (std::size_t i = 0; i < h.size(); ++i) {
    largest = std::max(largest, std::abs(difference(h, i)));
  }
  return largest * magnitude_sum(sums);
}

std::complex<double> abel_sum(const std::vector<std::complex<double>>& h,
                              const std::vector<std::complex<double>>& sums) {
  std::complex<double> total;
  for (std::size_t i = 0; i < h.size(); ++i) {
    total -= sums[i] * difference(h, i);
  }
  return total;
}

}  // namespace ropewalk
