// The decay bound of RoFormer section 3.4.3, by Abel summation (properties/algebra/decay.cpp).
//
// n = rotary_dim / 2, h_i = q_i conj(k_i), h_n = 0, S_j = sum_{i<j} e^(i D theta_i), D = m - n_pos:
//   sum h_i e^(i D theta_i) = - sum_{i<n} S_(i+1) (h_(i+1) - h_i), so
//   |.| <= max_{0<=i<n} |h_(i+1) - h_i| * sum_{j=1..n} |S_j|.
// The maximum includes the last term |h_(n-1)|.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

#include "reference/oracle.h"

namespace ropewalk {

/// S_1 .. S_n at distance D (any sign, |D| <= 2^31). Each is exact to about n * 2^-53.
std::vector<std::complex<double>> prefix_sums(Oracle& oracle, const std::vector<double>& inv_freq,
                                              std::int64_t distance);

/// B(D) = (1/n) sum_j |S_j|, the curve of the paper's figure 2.
double mean_prefix_magnitude(const std::vector<std::complex<double>>& sums);

}  // namespace ropewalk
