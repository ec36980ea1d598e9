#include "reports/numbers/ratio_interval.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <utility>

namespace ropewalk::report {
namespace {

constexpr double correlation_left = 0.02;  // between neighbouring blocks
constexpr std::int64_t least_blocks = 4;   // of a launch
// Launches count as scattering unless they scatter less than so many that differ by chance alone.
// A strict test would overlook a scatter of a third of a percent, and then one claim in thirty at
// the margin is wrong; this one costs no power (docs/decisions/0057).
constexpr double scatter_by_chance = 0.8;

/// P(at most k of n tosses of a fair coin).
double coin_cdf(std::int64_t k, std::int64_t n) {
  const boost::math::binomial_distribution<double> coin(static_cast<double>(n), 0.5);
  return boost::math::cdf(coin, static_cast<double>(k));
}

/// The signs of a launch's rounds about its median; 0 for the median itself.
std::vector<int> signs_of(const std::vector<double>& logs) {
  const double median = median_of(logs);
  std::vector<int> signs;
  for (const double log : logs) signs.push_back((log > median) - (log < median));
  return signs;
}

/// The correlation of signs that are `lag` rounds apart, and by how many pairs.
std::pair<double, std::int64_t> correlation_of(const std::vector<std::vector<int>>& launches,
                                               std::size_t lag) {
  std::int64_t sum = 0, pairs = 0;
  for (const std::vector<int>& signs : launches)
    for (std::size_t i = lag; i < signs.size(); ++i, ++pairs) sum += signs[i] * signs[i - lag];
  return {pairs == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(pairs), pairs};
}

/// The medians of blocks. What is left at the end of a launch joins its last block.
std::vector<double> blocks_of(const std::vector<double>& logs, std::int64_t block) {
  std::vector<double> medians;
  block = std::max<std::int64_t>(std::min(block, std::ssize(logs) / least_blocks), 1);
  const auto count = std::max<std::int64_t>(std::ssize(logs) / block, 1);
  for (std::int64_t i = 0; i < count; ++i)
    medians.push_back(median_of(
        {logs.begin() + i * block, i + 1 == count ? logs.end() : logs.begin() + (i + 1) * block}));
  return medians;
}

/// What the launches say, each by its median.
struct LaunchMedians {
  std::vector<double> medians;
  bool scatter = false, differ = false;
};
LaunchMedians launches_of(const LaunchLogs& launches, std::int64_t block) {
  LaunchMedians out;
  std::vector<double> off;
  std::vector<std::int64_t> blocks;
  for (const auto& logs : launches) {
    out.medians.push_back(median_of(logs));
    const std::vector<double> of = blocks_of(logs, block);
    blocks.push_back(std::ssize(of));
    const double middle = median_of(of);
    for (const double value : of) off.push_back(std::abs(value - middle));
  }
  // Of normal values, the standard deviation is 1.4826 times the median distance from the median,
  // and the median of n scatters sqrt(pi / 2) times as far as their mean.
  const double deviation = 1.4826 * std::sqrt(std::acos(-1.0) / 2) * median_of(off);
  double weights = 0, mean = 0, scatter = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    weights += static_cast<double>(blocks[i]);
    mean += static_cast<double>(blocks[i]) * out.medians[i];
  }
  mean /= weights;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    scatter += static_cast<double>(blocks[i]) * (out.medians[i] - mean) * (out.medians[i] - mean);
  const boost::math::chi_squared_distribution<double> by_chance(
      static_cast<double>(std::ssize(launches) - 1));
  const auto exceeds = [&](double error) {
    return scatter >
           deviation * deviation * boost::math::quantile(boost::math::complement(by_chance, error));
  };
  out.scatter = exceeds(scatter_by_chance);
  out.differ = exceeds(0.05);
  return out;
}

/// Student's interval for the mean of the launches' medians.
Interval interval_of_launches(const std::vector<double>& medians, double error) {
  const auto count = static_cast<double>(medians.size());
  double mean = 0, squares = 0;
  for (const double median : medians) mean += median / count;
  for (const double median : medians) squares += (median - mean) * (median - mean);
  const boost::math::students_t_distribution<double> student(count - 1);
  const double half = boost::math::quantile(boost::math::complement(student, error / 2)) *
                      std::sqrt(squares / (count - 1) / count);
  Interval out;
  out.low = std::exp(mean - half);
  out.high = std::exp(mean + half);
  return out;
}

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

bool is_clear_of(const Interval& interval, double margin) {
  return interval.rounds > 0 && (interval.high < 1 - margin || interval.low > 1 + margin);
}

std::int64_t least_values(double error) {
  // Both ends are extremes: the interval misses the median with probability 2 * 2^-n.
  return static_cast<std::int64_t>(std::ceil(1 - std::log2(error)));
}

Interval sign_interval(std::vector<double> logs, double error) {
  Interval out;
  out.rounds = std::ssize(logs);
  if (logs.empty()) return out;
  std::ranges::sort(logs);
  out.ratio = std::exp(median_of(logs));
  if (out.rounds < least_values(error)) {
    out.high = infinity;
    out.coverage = 1;
    return out;
  }
  // The largest k with 2 P(Binomial(n, 1/2) <= k - 1) <= error: the ends are the k-th values from
  // either side.
  std::int64_t low = 1, high = (out.rounds + 1) / 2;
  while (low < high) {
    const std::int64_t k = (low + high + 1) / 2;
    if (2 * coin_cdf(k - 1, out.rounds) <= error)
      low = k;
    else
      high = k - 1;
  }
  const auto k = static_cast<std::size_t>(low);
  out.low = std::exp(logs[k - 1]);
  out.high = std::exp(logs[logs.size() - k]);
  out.coverage = 1 - 2 * coin_cdf(low - 1, out.rounds);
  return out;
}

// With correlations r_k, neighbouring blocks of n rounds correlate by about sum(k r_k) / (n tau),
// where tau = 1 + 2 sum(r_k). Both sums end before the first r_k that chance explains.
std::int64_t block_of(const LaunchLogs& launches) {
  // Of very many rounds, neighbours are joined beforehand: each lag costs a pass through all.
  constexpr std::int64_t most_values = 4096;
  std::int64_t longest = 0;
  for (const auto& logs : launches) longest = std::max(longest, std::ssize(logs));
  const std::int64_t joined = (longest + most_values - 1) / most_values;
  std::vector<std::vector<int>> signs;
  for (const auto& logs : launches)
    signs.push_back(signs_of(joined > 1 ? blocks_of(logs, joined) : logs));
  const double most =
      static_cast<double>(longest / std::max<std::int64_t>(joined, 1) / least_blocks);
  double tau = 1, weighted = 0, wanted = 1;
  for (std::size_t lag = 1; wanted < most; ++lag) {
    const auto [r, pairs] = correlation_of(signs, lag);
    if (r * std::sqrt(static_cast<double>(pairs)) < 2) break;
    tau += 2 * r;
    weighted += static_cast<double>(lag) * r;
    wanted = std::ceil(weighted / tau / correlation_left);
  }
  return std::max<std::int64_t>(static_cast<std::int64_t>(std::min(wanted, most)), 1) * joined;
}

Interval pooled_interval(const LaunchLogs& launches, double error) {
  if (launches.empty()) return {};
  const std::int64_t block = block_of(launches);
  std::vector<double> all, joined;
  for (const auto& logs : launches) {
    all.insert(all.end(), logs.begin(), logs.end());
    const std::vector<double> blocks = blocks_of(logs, block);
    joined.insert(joined.end(), blocks.begin(), blocks.end());
  }
  Interval out = sign_interval(std::move(joined), error);
  out.rounds = std::ssize(all);
  out.block = block;
  out.ratio = std::clamp(std::exp(median_of(std::move(all))), out.low, out.high);
  return out;
}

double share_of_look(std::int64_t launches) {
  constexpr double first = 0.2, second = 0.3;
  if (launches == first_look) return first;
  if (launches == first_look + 1) return 1 - first;  // its time ended after the first look
  if (launches == 8) return second;
  return launches == 9 || launches == most_launches ? 1 - first - second : 1;  // it looked once
}

Interval ratio_interval(const LaunchLogs& launches, double error) {
  const double spent = error * share_of_look(std::ssize(launches));
  Interval out = pooled_interval(launches, spent);
  if (out.rounds == 0) return out;
  if (std::ssize(launches) < least_launches) {
    out.low = 0;
    out.high = infinity;
    return out;
  }
  const LaunchMedians by_launch = launches_of(launches, out.block);
  out.launches_differ = by_launch.differ;
  if (by_launch.scatter) {
    const Interval wide = interval_of_launches(by_launch.medians, spent);
    out.is_of_launches = true;
    out.low = std::min(out.low, wide.low);
    out.high = std::max(out.high, wide.high);
  }
  for (const double median : by_launch.medians) {
    if ((median > 0) == (out.ratio > 1)) continue;
    out.low = std::min(out.low, std::exp(median));
    out.high = std::max(out.high, std::exp(median));
  }
  return out;
}

// Derived in METHODOLOGY.md, "Two runs".
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
  std::ranges::sort(low);
  std::ranges::sort(high);
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
