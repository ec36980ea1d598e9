// From rounds to claims. This is the only place where a comparison within a run is computed. What
// bench prints, and what the report shows and checks, comes from here (METHODOLOGY.md, "Speed").
//
// Every contestant is compared with the baseline of its group, round by round. A ratio is the
// contestant's time divided by the baseline's time, so a ratio below 1 is faster.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "reports/numbers/ratio_interval.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// Before the names of the kernels of two builds (compare.h).
inline constexpr std::string_view base_prefix = "base:", head_prefix = "head:";
inline constexpr double claim_error = 0.05;   ///< shared by all claims of a group
inline constexpr double usual_margin = 0.01;  ///< a smaller difference is none (--margin)
/// A noise floor above this share hides the differences that users look for. It equals the default
/// of compare --max-regression.
inline constexpr double useful_floor = 0.05;
inline constexpr double roof_allowance =
    0.05;  ///< the share by which a measured ceiling may miss the true one

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
  Interval interval;                  ///< ratio_interval() of all launches
  /// Set for UNRESOLVED: how many times the time of its group would settle it; 0: not known.
  double times_needed = 0;
  /// Set for UNRESOLVED: it lies so close to the margin that more time decides nothing.
  bool is_at_margin = false;
  /// A probe (TimingRow::probe_ns) that took longer is that of a slower processor.
  double slow_ns = std::numeric_limits<double>::infinity();
  Interval of_ceiling;  ///< the ceiling's time / its time, round by round; 1 is the ceiling itself
  /// The same of ns_per_token: what is shown beside it. 0 without a ceiling in the same rounds.
  double ceiling_share = 0;
  Interval of_unfused;  ///< its time / that of its own passes one after the other ('X (unfused)')
  std::vector<const TimingRow*> rows;  ///< ordered by launch
};

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

/// The ratio of the times of two contestants of one group, a / b, by the rounds in which both were
/// timed. `error` is that of ratio_interval().
Interval paired_interval(const Claim& a, const Claim& b, double error);

/// The share of claim_error for each pair of so many kernels, of which the data choose the first.
double error_of_pairs(std::int64_t kernels);

/// A group holds like work of one run: the contestants that were timed together in rounds.
struct ClaimGroup {
  std::string workload, board;
  std::int64_t threads = 1;
  std::string baseline;                ///< empty if nothing is compared
  double asked_margin = usual_margin;  ///< SAME: the whole interval lies in 1 -+ this
  /// FASTER, SLOWER: the whole interval lies beyond 1 -+ this. It is the asked margin, or what the
  /// median of the null twin is off by, if that is more; infinity without a twin.
  double margin = usual_margin;
  double noise_floor = 0;  ///< how far the interval of the null twin reaches from 1
  bool valid = true;       ///< false: the null twin differs from the baseline by the margin
  std::int64_t comparisons = 0;
  std::int64_t block = 1;     ///< the longest of its intervals, in rounds
  double slow_share = 0;      ///< of the rounds that were probed: those of a slower processor
  std::vector<Claim> claims;  ///< in the order of the rows; holds baseline, twin and references too
};

struct Claims {
  std::vector<ClaimGroup> groups;  ///< in the order of the rows
  bool valid = true;               ///< whether every group is valid
  std::string invalid_because;     ///< one line
  double noise_floor = 0;          ///< the largest floor of all groups
};

/// Computes the claims of a run. The rows must outlive the claims. A contestant that is BROKEN in
/// one launch is BROKEN. `margin` is a share, above 0.
Claims claims_of(const std::vector<TimingRow>& rows, double margin = usual_margin);
Claims claims_of(const std::vector<TimingRow>&&, double = usual_margin) = delete;

/// Whether another launch may settle a claim of the group.
bool is_open(const ClaimGroup& group);

/// The time of all epochs of a group, in s.
double timed_s(const ClaimGroup& group);

/// A time in round words: less than 1 ms, about 0.03 s, about 10 s, about 2 min, more than a day.
std::string time_text(double s);

/// ", 4 threads"; empty for one.
std::string threads_text(std::int64_t threads);

/// "0.942 – 0.951", the ends of an interval; `otherwise` if it has none.
std::string range_text(const Interval& interval, const char* otherwise = "too few rounds");

/// "0.612 × unfused [0.601 – 0.622]"; empty if it has no such form beside it.
std::string unfused_text(const Claim& claim);

/// "51.7 %"; "at the ceiling" above 100 %, where it is within the noise of measuring the ceiling.
std::string ceiling_share_text(double percent);

/// Why a claim is UNRESOLVED, in a few words: what it needs, or that more time decides nothing.
std::string why_open(const Claim& claim, const ClaimGroup& group);

}  // namespace ropewalk::report
