// Compares two runs on machines of one class: what became faster, slower or broken, and what is
// unclear.
//
// Two runs are not paired. They can only tell how their launches differ. A launch counts as one
// observation, however many rounds it has (METHODOLOGY.md, "Two runs"). "No regression" is said
// only where a regression of the given size would have been seen.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/numbers/claims.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

struct ComparedCell {
  std::string kernel, workload, board;
  std::int64_t threads = 1;
  /// FASTER, SLOWER, SAME or UNRESOLVED if compared; BROKEN and the like; CHANGED if the same name
  /// stands for other work; GONE or NEW.
  Outcome outcome = Outcome::unresolved;
  std::string note;   ///< why there is no ratio, or what would decide
  Interval ratio;     ///< time of the second run / time of the first
  double spread = 0;  ///< by how much two runs of unchanged code differ; the range reaches as far
  double ns_a = 0, ns_b = 0;
  std::int64_t launches_a = 0, launches_b = 0;
  bool by_ceiling = false;  ///< times are in units of each run's own ceiling, which removes drift
  bool regression = false;
  bool cannot_tell = false;  ///< compared, but a regression of the given size may hide in it
};

struct Comparison {
  std::string machine;                ///< the machine class of both runs
  std::vector<std::string> told;      ///< other differences, e.g. "compiler: GNU 12 -> GNU 14"
  std::vector<std::string> verdicts;  ///< regressions: kernels that fail now and held before
  std::vector<ComparedCell> cells;    ///< regressions first, then the undecided, then the rest
  double max_regression = 0;          ///< a share; a slowdown up to it is allowed
  double by_chance = 0;               ///< upper limit of those that stand out by chance alone
  std::string invalid;                ///< one line; if not empty, nothing was compared
  std::int64_t regressions = 0;       ///< contestants and verdicts together
  std::int64_t compared = 0;          ///< contestants with a ratio
  std::int64_t cannot_tell = 0;       ///< compared contestants that are undecided
};

/// Throws BadFile in one line if the machine classes differ. `max_regression` is a share, e.g.
/// 0.05.
Comparison compare_runs(const Results& a, const Results& b, const std::string& name_a,
                        const std::string& name_b, double max_regression);

/// The kernels that held in `a` and fail in `b`, and new failures of those that failed in `a`.
std::vector<std::string> new_failures(const Results& a, const Results& b, const Summary& of_a,
                                      const Summary& of_b);

/// The command's exit code: 1 for a regression, 3 if nothing was compared or a contestant is
/// undecided, else 0.
int exit_code_of(const Comparison& comparison);

}  // namespace ropewalk::report
