// How much longer one contestant takes than another, with an interval, by the rounds of all
// launches in which both were timed (docs/METHODOLOGY.md derives it).
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "base/median.h"

namespace ropewalk::report {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
/// No interval is told of fewer launches, as they cannot show how far launches differ.
inline constexpr std::int64_t least_launches = 3;
/// A run with a budget looks at its claims after so many launches, and ends after the last look.
inline constexpr std::int64_t first_look = 6, most_launches = 10;
constexpr bool is_look(std::int64_t launches) {
  return launches == first_look || launches == 8 || launches == most_launches;
}

/// An interval for the median of ratios. With too few rounds or launches for any it is 0 ..
/// infinity.
struct Interval {
  double ratio = 0;  ///< the median itself
  double low = 0, high = 0;
  double coverage = 0;      ///< a lower limit, exact for independent blocks (binomial)
  std::int64_t rounds = 0;  ///< 0: nothing was compared
  std::int64_t block = 1;   ///< rounds that were joined into one value
  /// The medians of the launches scatter, so the interval holds theirs too, by Student's t.
  bool is_of_launches = false;
  bool launches_differ = false;  ///< they scatter more than their rounds explain (19 times of 20)
};

/// The logarithms of the ratios of each launch, in the order of its rounds.
using LaunchLogs = std::vector<std::vector<double>>;

/// The sign test's interval for a median: exact, and valid for any distribution of independent
/// values. Takes logarithms of ratios and returns ratios. `error` in (0, 1) is 1 - the requested
/// coverage.
Interval sign_interval(std::vector<double> log_ratios, double error);

/// The smallest number of values that gives a finite interval.
std::int64_t least_values(double error);

/// Whether the whole interval is farther from 1 than the margin.
bool is_clear_of(const Interval& interval, double margin);

/// How many rounds form a block, so that neighbouring blocks correlate by about 0.02 or less. It is
/// made from the correlations of the rounds' signs about the median of their launch, as the sign
/// test counts nothing but these. A launch keeps four blocks.
std::int64_t block_of(const LaunchLogs& launches);

/// The sign test's interval of the blocks of all launches.
Interval pooled_interval(const LaunchLogs& launches, double error);

/// The share of the error that a look after so many launches may use. The shares of all looks of a
/// run add up to 1 at most, whenever its time ends, so its claims together err no more often than
/// `error` says.
double share_of_look(std::int64_t launches);

/// The interval of a claim: pooled_interval() with the share of this look, widened to hold the
/// median of a launch on the other side of 1. If the launches scatter, it holds their interval too.
Interval ratio_interval(const LaunchLogs& launches, double error);

// ---- how two sets of launches differ

/// With fewer launches on either side, the launches cannot show their own spread. The interval then
/// reaches at least `assumed_spread` to either side.
inline constexpr std::int64_t launches_to_trust = 3;
inline constexpr double assumed_spread = 0.17;  ///< p90 between processes, at one token

/// Error of the interval for one launch's median. Five rounds are the fewest that give one: 2 *
/// 2^-5.
inline constexpr double round_error = 0.0625;

/// The time of one launch of one kernel.
struct LaunchTime {
  double median = 0;         ///< the median of its rounds
  double low = 0, high = 0;  ///< the sign test's interval for that median
};

/// Error of the interval of a ratio: 2 / (6 choose 3), the least that three launches a side allow.
inline constexpr double launch_error = 0.1;

/// The ratio b / a of two sets of launches, with a range. Takes and returns times, not logarithms.
/// The range is made of order statistics of the quotients of all pairs of medians (Hodges and
/// Lehmann). It is exact by the distribution of Mann and Whitney's U if only chance makes launches
/// of one side differ. It reaches at least `spread`, a share, to either side of the ratio.
/// If one side has fewer than `launches_to_trust` launches, the range covers all quotients, with
/// `assumed_spread` and the noise of the rounds added.
Interval launch_interval(const std::vector<LaunchTime>& a, const std::vector<LaunchTime>& b,
                         double spread);

}  // namespace ropewalk::report
