// From rounds to claims. This is the only place where a comparison within a run is computed. What
// bench prints, and what the report shows and checks, comes from here (docs/decisions/0019).
//
// Every contestant is compared with the baseline of its group, round by round. A ratio is the
// contestant's time divided by the baseline's time, so a ratio below 1 is faster.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::report {

inline constexpr double claim_error = 0.05;   ///< shared by all claims of a group
inline constexpr double same_within = 0.01;   ///< SAME: the whole interval lies in 1 -+ this
inline constexpr double least_floor = 0.005;  ///< a smaller difference is never claimed
/// A noise floor above this share hides the differences that users look for. It equals the default
/// of compare --max-regression.
inline constexpr double useful_floor = 0.05;
/// An estimate above this number of rounds is not printed. Its error grows with the square of the
/// unknown.
inline constexpr std::int64_t rounds_told_max = 1000;
inline constexpr double roof_allowance =
    0.05;  ///< the share by which a measured ceiling may miss the true one

/// An interval for the median of ratios. With too few rounds for any interval it is 0 .. infinity.
struct Interval {
  double ratio = 0;  ///< the median itself
  double low = 0, high = 0;
  double coverage = 0;      ///< a lower limit, exact for independent rounds (binomial)
  std::int64_t rounds = 0;  ///< 0: nothing was compared
};

/// The sign test's interval for a median: exact, and valid for any distribution. Takes logarithms
/// of ratios and returns ratios. `error` in (0, 1) is 1 - the requested coverage.
Interval sign_interval(std::vector<double> log_ratios, double error);

/// Whether the whole interval is farther from 1 than the floor.
bool is_clear_of(const Interval& interval, double floor);

/// The smallest number of rounds that gives a finite interval.
std::int64_t least_rounds(double error);

double median_of(std::vector<double> values);  ///< returns 0 for an empty list

/// The claim about one contestant of a group, over all launches.
struct Claim {
  std::string kernel;  ///< named as in its rows
  Role role = Role::kernel;
  /// FASTER, SLOWER, SAME, UNRESOLVED, IMPLAUSIBLE or BROKEN. A contestant that is not compared is
  /// MEASURED or SKIPPED.
  Outcome outcome = Outcome::measured;
  std::string reason;  ///< why there is no speed or no claim
  std::string known;   ///< set if a known failure is why there is no speed
  bool has_speed = false;
  double ns_per_token = 0;   ///< the median of its launches' medians
  double launch_spread = 0;  ///< largest / smallest of those medians, less 1
  double round_spread = 0;   ///< upper / lower quartile of rounds, less 1; median over launches
  std::vector<double> launch_ratios;  ///< the median ratio of each launch
  Interval pooled;                    ///< from the rounds of all launches
  Interval interval;  ///< the claim's interval: pooled, widened to hold each launch's median
  /// Set for UNRESOLVED: the total number of rounds that would settle it. 0 means that more rounds
  /// would not settle it, although more launches may.
  std::int64_t rounds_needed = 0;
  Interval of_ceiling;  ///< the ceiling's time / its time, round by round; 1 is the ceiling itself
  /// The same of ns_per_token: what is shown beside it. 0 without a ceiling in the same rounds.
  double ceiling_share = 0;
  std::vector<const TimingRow*> rows;  ///< ordered by launch
};

/// The ratio of the times of two contestants of one group, a / b, by the rounds in which both were
/// timed. It is widened to hold the median of each launch. `error` is that of sign_interval().
Interval paired_interval(const Claim& a, const Claim& b, double error);

/// A group holds like work of one run: the contestants that were timed together in rounds.
struct ClaimGroup {
  std::string workload, board;
  std::int64_t threads = 1;
  std::string baseline;    ///< empty if nothing is compared
  double noise_floor = 0;  ///< a claimed ratio is at least this far from 1; never below least_floor
  bool valid = true;       ///< false: the null twin differs from the baseline
  std::int64_t comparisons = 0;
  std::vector<Claim> claims;  ///< in the order of the rows; holds baseline, twin and references too
};

struct Claims {
  std::vector<ClaimGroup> groups;  ///< in the order of the rows
  bool valid = true;               ///< whether every group is valid
  std::string invalid_because;     ///< one line
  double noise_floor = 0;          ///< the largest floor of all groups
};

/// Computes the claims of a run. The rows must outlive the claims. A contestant that is BROKEN in
/// one launch is BROKEN. Rows of engine gbench come back as MEASURED, since they have no paired
/// rounds.
Claims claims_of(const std::vector<TimingRow>& rows);
Claims claims_of(const std::vector<TimingRow>&&) = delete;

}  // namespace ropewalk::report
