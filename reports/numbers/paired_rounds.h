// The rounds by which two contestants are compared.
#pragma once
#include <cmath>
#include <vector>

#include "reports/numbers/claims.h"

namespace ropewalk::report {

inline bool is_time(double ns) {
  return std::isfinite(ns) && ns > 0;
}

/// The compared rounds of two contestants, by launch. A neighbour may slow one of them more than
/// the other, so only rounds without one count, of the launches that have enough of them. If too
/// few have, all rounds count, and the interval holds that of the rounds without one as well
/// (docs/decisions/0057).
struct PairedRounds {
  LaunchLogs logs;
  double look = 1;  ///< what the launches that were left out change of a look's error
  std::vector<double> undisturbed;  ///< rounds without a neighbour
  bool is_mixed = false;            ///< all rounds count, those beside a neighbour too

  PairedRounds(const Claim& a, const Claim& b);
  /// ratio_interval() of time of a / time of b.
  Interval interval(double error) const;
  /// Holds the interval of the rounds without a neighbour as well, where all count.
  Interval widened(Interval interval, double error) const;
};

}  // namespace ropewalk::report
