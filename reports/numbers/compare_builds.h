// Compares two builds of one plugin within one run (--plugin base=FILE --plugin head=FILE).
//
// Both builds are timed in the same rounds, so what disturbs the machine disturbs both. The ratio
// of their times is formed round by round, as a claim's is (claims.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/numbers/claims.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// not_compared: base has no speed, so head cannot be slower.
enum class BuildAnswer { regressed, cannot_tell, no_worse, not_compared };

/// One kernel on one workload, board and number of threads.
struct BuildCell {
  std::string kernel;  ///< without its prefix
  std::string workload, board;
  std::int64_t threads = 1;
  BuildAnswer answer = BuildAnswer::cannot_tell;
  Interval ratio;  ///< time of head / time of base; without rounds if they were not compared
  std::int64_t launches = 0;
  std::string why;  ///< set if there is no ratio or no answer
};

struct BuildComparison {
  std::vector<std::string> failures;  ///< kernels that fail in head and held in base, and how
  std::vector<BuildCell> cells;       ///< regressions first, then those without an answer
  double max_regression = 0;          ///< a share; a slowdown up to it is allowed
  std::int64_t regressions = 0;       ///< cells and failures together
  std::int64_t cannot_tell = 0;       ///< number of cells
  bool any_compared = false;
};

/// Throws BadFile in one line if the run was cut off, or has no timed kernel of base or of head.
/// `max_regression` is a share, e.g. 0.05. A cell has regressed if the whole interval lies above 1
/// by more than this share, and by more than two copies of the baseline differ.
BuildComparison compare_builds(const Results& run, const std::string& name, double max_regression);

/// 1 for a regression, 3 if nothing was compared or a cell has no answer, else 0.
int exit_code_of(const BuildComparison& comparison);

}  // namespace ropewalk::report
