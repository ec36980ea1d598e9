#include "reference/decay.h"

namespace ropewalk {
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
  double total = 0;
  for (const std::complex<double>& s : sums) total += std::abs(s);
  return total / static_cast<double>(sums.size());
}

}  // namespace ropewalk
