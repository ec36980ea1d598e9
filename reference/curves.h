// The curves that papers draw of RoPE, computed from the rotation alone. Each is of rotary_dim 128.
#pragma once
#include <string>
#include <vector>

#include "reference/oracle.h"

namespace ropewalk {

struct NamedCurve {
  std::string series;
  std::vector<double> x, y;
};

/// RoFormer's decay bound B(D) = (1/n) sum_j |S_j| of S_j = sum_{i<j} e^(i D theta_i) at a distance
/// (any sign, |D| <= 2^31). Each S_j is exact to about n * 2^-53.
double mean_prefix_magnitude(Oracle& oracle, const std::vector<double>& inv_freq,
                             std::int64_t distance);

/// That bound (the paper's figure 2) at base 10000, for the distances
/// 0 .. 256 and then in steps of 2 % to 65,536. The second curve has its rises up to 256: the
/// points with B(D) > B(D - 1).
std::vector<NamedCurve> decay_bound_curves(Oracle& oracle);

/// By how much q.k changes, relative to |q||k|, when query and key move from positions (50, 0) to
/// (m, m - 50), at base 10000. The largest of 16 drawn q and k, for five ways of rounding. Exact
/// arithmetic would give 0.
std::vector<NamedCurve> relativity_curves(Oracle& oracle);

/// The share of the pairs that turn at least once in L tokens, over L, for bases of released
/// models.
std::vector<NamedCurve> context_curves();

/// The largest |cos, sin| error of a pair over the positions from x to 2 x, of up to 64 positions
/// spread evenly, by how the angle is formed, at base 10000. The last x is 2^31 - 1 alone.
std::vector<NamedCurve> angle_curves(Oracle& oracle);

}  // namespace ropewalk
