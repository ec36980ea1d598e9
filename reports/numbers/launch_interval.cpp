// The range for a ratio of two sets of launches (derived in METHODOLOGY.md, "Two runs").
#include "reports/numbers/launch_interval.h"

#include <algorithm>

#include "reports/numbers/compare.h"

namespace ropewalk::report {
namespace {

/// P(U <= u) for each u, where m values and n others differ by chance alone. U is the number of
/// pairs (value, other) that stand in order: the distribution of Mann and Whitney, by its
/// recursion.
std::vector<double> u_cdf(std::size_t m, std::size_t n) {
  // ways[j][u]: arrangements of i values and j others with u pairs in order; i grows from 0 to m.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(m * n + 1, 0));
  for (auto& row : ways) row[0] = 1;
  for (std::size_t i = 1; i <= m; ++i)
    for (std::size_t j = 1; j <= n; ++j)
      // The last is either a value, behind all j others, or one of the others.
      for (std::size_t u = m * n + 1; u-- > 0;)
        ways[j][u] = (u >= j ? ways[j][u - j] : 0) + ways[j - 1][u];
  std::vector<double> cdf = ways[n];
  for (std::size_t u = 1; u < cdf.size(); ++u) cdf[u] += cdf[u - 1];
  const double all = cdf.back();
  for (double& p : cdf) p /= all;
  return cdf;
}

}  // namespace

Interval launch_interval(const std::vector<LaunchTime>& a, const std::vector<LaunchTime>& b,
                         double spread) {
  Interval out;
  if (a.empty() || b.empty()) return out;
  const bool few = static_cast<std::int64_t>(std::min(a.size(), b.size())) < launches_to_trust;
  std::vector<double> medians_a, medians_b, low, high;
  for (const LaunchTime& one : a) medians_a.push_back(one.median);
  for (const LaunchTime& two : b) medians_b.push_back(two.median);
  for (const LaunchTime& one : a)
    for (const LaunchTime& two : b) {
      low.push_back(few ? two.low / one.high : two.median / one.median);
      high.push_back(few ? two.high / one.low : two.median / one.median);
    }
  std::sort(low.begin(), low.end());
  std::sort(high.begin(), high.end());
  // The k-th quotient from either end, where k is the largest that the error allows.
  const std::vector<double> cdf = u_cdf(a.size(), b.size());
  std::size_t k = 1;
  while (!few && k < (low.size() + 1) / 2 && 2 * cdf[k] <= launch_error * (1 + 1e-12)) ++k;
  if (few) spread = std::max(spread, assumed_spread);
  out.ratio = median_of(medians_b) / median_of(medians_a);
  out.low = std::min(low[k - 1], out.ratio / (1 + spread));
  out.high = std::max(high[high.size() - k], out.ratio * (1 + spread));
  out.rounds = static_cast<std::int64_t>(a.size() + b.size());
  out.coverage = 1 - 2 * cdf[k - 1];
  if (few) out.coverage = std::max(out.coverage, 0.9);  // assumed_spread is a 90th percentile
  return out;
}

}  // namespace ropewalk::report
