// Two runs on machines of one class: what became faster, slower, broken.
//
// Runs are not paired: what two of them can tell is how their launches differ, and no finer. A
// launch counts as one observation, however many rounds it has (docs/decisions/0022).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/claims.h"
#include "reports/record.h"

namespace ropewalk {

/// Fewer launches than this on either side cannot show their own spread: the interval is then at
/// least `assumed_spread` wide to either side.
inline constexpr std::int64_t launches_to_trust = 3;
inline constexpr double assumed_spread = 0.17;  ///< p90 between processes, docs/decisions/0022

/// The ratio b / a of two sets of launch medians, with the range of all their quotients. If only
/// chance made the launches differ, the true ratio lies outside with probability
/// 2 / (m + n choose m): coverage. Takes and gives times, not logarithms.
Interval launch_interval(const std::vector<double>& a, const std::vector<double>& b);

struct ComparedCell {
  std::string kernel, workload, board;
  std::int64_t threads = 1;
  /// FASTER, SLOWER, SAME, UNRESOLVED; BROKEN and the like; CHANGED: the same name, other work;
  /// GONE, NEW.
  std::string outcome;
  std::string note;  ///< why there is no ratio
  Interval ratio;    ///< time of the second run over that of the first
  double floor = 0;  ///< the larger noise floor of its groups in the two runs
  double ns_a = 0, ns_b = 0;
  std::int64_t launches_a = 0, launches_b = 0;
  bool by_ceiling = false;  ///< each run in units of its own ceiling, so drift falls out
  bool regression = false;
};

struct Comparison {
  std::string machine;                ///< the class of both
  std::vector<std::string> told;      ///< what else differs: "compiler: GNU 12 -> GNU 14"
  std::vector<std::string> verdicts;  ///< kernels that fail where they held: regressions
  std::vector<ComparedCell> cells;    ///< regressions first, then in the order of the first run
  double max_regression = 0;          ///< SLOWER by no more than this is let be, a share
  double by_chance = 0;               ///< cells that chance alone would set apart, at most
  std::string invalid;                ///< one line; not empty: nothing was compared
  std::int64_t regressions = 0;
};

/// "AMD EPYC 9755; L1d 48 KiB, L2 1 MiB, L3 512 MiB; up to 8 GiB": runs of one class may be
/// compared and share a history. Throws BadResults where the environment does not say it.
std::string machine_class(const Results& results, const std::string& name);

/// Throws BadResults in one line for two classes of machine. `max_regression`: a share, 0 for the
/// noise floor alone.
Comparison compare_runs(const Results& a, const Results& b, const std::string& name_a,
                        const std::string& name_b, double max_regression);

/// Fit for a pull request: the answer first, the table folded away.
std::string comparison_markdown(const Comparison& comparison, const std::string& name_a,
                                const std::string& name_b);

}  // namespace ropewalk
