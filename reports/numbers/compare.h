// Two runs on machines of one class: what became faster, slower, broken, and what cannot be told.
//
// Runs are not paired: what two of them can tell is how their launches differ, and no finer. A
// launch counts as one observation, however many rounds it has (docs/decisions/0022). "No
// regression" is said only where one of the asked size would have been seen (docs/decisions/0031).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/numbers/claims.h"
#include "reports/numbers/launch_interval.h"
#include "reports/record/record.h"

namespace ropewalk::report {

struct ComparedCell {
  std::string kernel, workload, board;
  std::int64_t threads = 1;
  /// FASTER, SLOWER, SAME, UNRESOLVED; BROKEN and the like; CHANGED: the same name, other work;
  /// GONE, NEW.
  Outcome outcome = Outcome::unresolved;
  std::string note;   ///< why there is no ratio
  Interval ratio;     ///< time of the second run over that of the first
  double spread = 0;  ///< what two runs differ by in unchanged code; the least reach
  double ns_a = 0, ns_b = 0;
  std::int64_t launches_a = 0, launches_b = 0;
  bool by_ceiling = false;  ///< each run in units of its own ceiling, so drift falls out
  bool regression = false;
  bool cannot_tell = false;  ///< compared, but a regression of the asked size might hide in it
};

struct Comparison {
  std::string machine;                ///< the class of both
  std::vector<std::string> told;      ///< what else differs: "compiler: GNU 12 -> GNU 14"
  std::vector<std::string> verdicts;  ///< kernels that fail where they held: regressions
  std::vector<ComparedCell> cells;    ///< regressions, what cannot be told, the rest
  double max_regression = 0;          ///< slower by no more than this is let be, a share
  double by_chance = 0;               ///< cells that chance alone would set apart, at most
  std::string invalid;                ///< one line; not empty: nothing was compared
  std::int64_t regressions = 0;       ///< cells and verdicts
  std::int64_t compared = 0;          ///< cells with a ratio
  std::int64_t cannot_tell = 0;       ///< of these
};

/// "AMD EPYC 9755; L1d 48 KiB, L2 1 MiB, L3 512 MiB; up to 8 GiB": runs of one class may be
/// compared and share a history. Throws BadFile where the environment does not say it.
std::string machine_class(const Results& results, const std::string& name);

/// Throws BadFile in one line for two classes of machine. `max_regression`: a share.
Comparison compare_runs(const Results& a, const Results& b, const std::string& name_a,
                        const std::string& name_b, double max_regression);

/// Of the command: 1 with a regression, 3 where nothing was compared or a cell cannot be told.
int exit_code_of(const Comparison& comparison);

}  // namespace ropewalk::report
