// How two sets of launches differ.
#pragma once
#include <cstdint>
#include <vector>

#include "reports/numbers/claims.h"

namespace ropewalk::report {

/// Fewer launches than this on either side cannot show their own spread: the interval is then at
/// least `assumed_spread` wide to either side.
inline constexpr std::int64_t launches_to_trust = 3;
inline constexpr double assumed_spread = 0.17;  ///< p90 between processes, docs/decisions/0022

/// Of the interval of one launch's median: five rounds are the fewest that give one, 2 * 2^-5.
inline constexpr double round_error = 0.0625;

/// One launch of one kernel.
struct LaunchTime {
  double median = 0;         ///< of its rounds
  double low = 0, high = 0;  ///< the sign test's interval for that median
};

/// Of the interval of a ratio: what three launches on either side can give, 2 / (6 choose 3).
inline constexpr double launch_error = 0.1;

/// The ratio b / a of two sets of launches, and a range for it: order statistics of the quotients
/// of all pairs of medians (Hodges and Lehmann; exact by the distribution of Mann and Whitney's U
/// where only chance makes launches of one side differ). The range reaches at least `spread`, a
/// share, to either side of the ratio. Where one side has fewer than `launches_to_trust` launches,
/// the range is that of all quotients, with `assumed_spread` and the noise of the rounds added.
/// Takes and gives times, not logarithms.
Interval launch_interval(const std::vector<LaunchTime>& a, const std::vector<LaunchTime>& b,
                         double spread);

}  // namespace ropewalk::report
