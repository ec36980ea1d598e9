// How two sets of launches differ.
#pragma once
#include <cstdint>
#include <vector>

#include "reports/numbers/claims.h"

namespace ropewalk::report {

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
