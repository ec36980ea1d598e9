// From rounds to claims: the only place where a comparison is computed. What bench prints, what the
// report shows and checks, and what compare compares all come from here (docs/decisions/0019).
//
// Every contestant is compared with the baseline of its group, round by round. A ratio is its time
// over the baseline's: below 1 is faster.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace ropewalk::report {

inline constexpr double claim_error = 0.05;   ///< of all claims of a group together
inline constexpr double same_within = 0.01;   ///< SAME: inside 1 -+ this
inline constexpr double least_floor = 0.005;  ///< nothing finer is called a difference
/// Above it a noise floor hides the differences that are asked for: what compare asks for by
/// default.
inline constexpr double useful_floor = 0.05;
/// No estimate of rounds above it is printed: it grows with the square of what is not known.
inline constexpr std::int64_t rounds_told_max = 1000;
inline constexpr double roof_allowance =
    0.05;  ///< a ceiling found here may be that far off the roof

/// An interval for the median of ratios. Where the rounds are too few for any, it is 0 .. infinity.
struct Interval {
  double ratio = 0;  ///< the median itself
  double low = 0, high = 0;
  double coverage = 0;      ///< at least: exact for independent rounds, from the binomial
  std::int64_t rounds = 0;  ///< 0: nothing was compared
};

/// Exact and free of distributions: the order statistics that a sign test would not reject.
/// Takes logarithms of ratios, gives ratios. `error` in (0, 1): 1 - the coverage asked for.
Interval sign_interval(std::vector<double> log_ratios, double error);

/// The fewest rounds that give a finite interval.
std::int64_t least_rounds(double error);

double median_of(std::vector<double> values);  ///< 0 for none

/// What is said about one contestant of a group, over all launches.
struct Claim {
  std::string kernel;  ///< as in its rows
  Role role = Role::kernel;
  /// FASTER, SLOWER, SAME, UNRESOLVED, IMPLAUSIBLE, BROKEN; of what is not compared MEASURED,
  /// SKIPPED or UNSUPPORTED.
  Outcome outcome = Outcome::measured;
  std::string reason;  ///< of no speed, or of no claim
  std::string known;   ///< of no speed: as in its rows
  bool has_speed = false;
  double ns_per_token = 0;            ///< median of the medians of its launches
  double launch_spread = 0;           ///< largest over smallest of those medians, less 1
  double round_spread = 0;            ///< the same of its rounds' quartiles, median over launches
  std::vector<double> launch_ratios;  ///< the median ratio of each launch
  Interval pooled;                    ///< of the rounds of all launches
  Interval interval;  ///< the claim's: pooled, widened until it holds every launch's median
  /// Of UNRESOLVED: rounds in all that would settle it. 0: more rounds would not, but more launches
  /// may.
  std::int64_t rounds_needed = 0;
  Interval of_ceiling;                 ///< the ceiling's time over its time: 1 is the roof
  std::vector<const TimingRow*> rows;  ///< by launch
};

/// Like work in one run: what was timed together in rounds.
struct ClaimGroup {
  std::string workload, board;
  std::int64_t threads = 1;
  std::string baseline;  ///< empty: nothing is compared
  double noise_floor =
      0;              ///< how far from 1 a ratio must be to mean anything, at least least_floor
  bool valid = true;  ///< false: the null twin differs from itself
  std::int64_t comparisons = 0;
  std::vector<Claim> claims;  ///< in the order of the rows: baseline, twin and ceilings included
};

struct Claims {
  std::vector<ClaimGroup> groups;  ///< in the order of the rows
  bool valid = true;               ///< of the run: every group's
  std::string invalid_because;     ///< one line
  double noise_floor = 0;          ///< the largest of a group
};

/// The rows must outlive the claims. A contestant that is BROKEN in one launch is BROKEN. Rows of
/// engine gbench come back as MEASURED: they were not made in rounds.
Claims claims_of(const std::vector<TimingRow>& rows);
Claims claims_of(const std::vector<TimingRow>&&) = delete;

}  // namespace ropewalk::report
