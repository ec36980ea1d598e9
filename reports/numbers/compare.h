// Compares two runs on machines of one class, or two builds of one plugin in one run: what became
// faster, slower or broken, and what is unclear.
//
// Two runs are not paired. They can only tell how their launches differ. A launch counts as one
// observation, however many rounds it has (METHODOLOGY.md, "Two runs"). Two builds (--plugin
// base=FILE --plugin head=FILE) are timed in the same rounds, so what disturbs the machine disturbs
// both. The ratio of their times is formed round by round, as a claim's is (claims.h). "No
// regression" is said only where a regression of the given size would have been seen.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/numbers/claims.h"
#include "reports/record/record.h"

namespace ropewalk::report {

struct ComparedCell {
  std::string kernel, workload, board;  ///< the kernel of a build without its prefix
  std::int64_t threads = 1;
  /// FASTER, SLOWER, SAME or UNRESOLVED if compared; BROKEN and the like; CHANGED if the same name
  /// stands for other work; GONE or NEW.
  Outcome outcome = Outcome::unresolved;
  std::string note;  ///< why there is no ratio, or what would decide
  Interval ratio;    ///< time of the second / time of the first; without rounds: not compared
  /// By how much unchanged code differs: between two runs, whose range reaches as far, or within
  /// the group of two builds.
  double spread = 0;
  double ns_a = 0, ns_b = 0;
  std::int64_t launches_a = 0, launches_b = 0;
  bool by_ceiling = false;  ///< times are in units of each run's own ceiling, which removes drift
  bool regression = false;
  bool cannot_tell = false;  ///< a regression of the given size may hide in it
};

struct Comparison {
  bool of_builds = false;
  std::string name_a, name_b;         ///< the two runs, or "base" and "head"
  std::string place;                  ///< the machine class of both runs, or the run of both builds
  std::vector<std::string> told;      ///< other differences, e.g. "compiler: GNU 12 -> GNU 14"
  std::vector<std::string> verdicts;  ///< regressions: kernels that fail now and held before
  std::vector<ComparedCell> cells;    ///< regressions first, then the undecided, then the rest
  double max_regression = 0;          ///< a share; a slowdown up to it is allowed
  double by_chance = 0;               ///< upper limit of those that stand out by chance alone
  std::string invalid;                ///< one line; if not empty, nothing was compared
  std::int64_t regressions = 0;       ///< contestants and verdicts together
  std::int64_t compared = 0;          ///< contestants with a ratio, or undecided
  std::int64_t cannot_tell = 0;       ///< contestants that are undecided
};

/// Throws BadFile in one line if the machine classes differ. `max_regression` is a share, e.g.
/// 0.05.
Comparison compare_runs(const Results& a, const Results& b, const std::string& name_a,
                        const std::string& name_b, double max_regression);

/// Throws BadFile in one line if the run was cut off, or has no timed kernel of base or of head.
Comparison compare_builds(const Results& run, const std::string& name, double max_regression);

/// The command's exit code: 1 for a regression, 3 if nothing was compared or a contestant is
/// undecided, else 0.
int exit_code_of(const Comparison& comparison);

}  // namespace ropewalk::report
