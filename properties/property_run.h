// What came of running one property's cases on one kernel.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "harness/cases/case.h"
#include "harness/judge/finding.h"
#include "properties/explain/causes.h"

namespace ropewalk::properties {

struct PropertyRun {
  std::int64_t planned = 0;   ///< number of cases
  std::int64_t executed = 0;  ///< number of cases that the kernel ran
  std::int64_t compared = 0;  ///< number of cases that compared something
  std::int64_t values = 0;    ///< number of values compared
  harness::Finding worst;     ///< of the passing cases, or of the failing case after shrinking
  std::optional<harness::Case> failing;  ///< the smallest failing case found
  /// what the kernel does instead, in the smallest failing case; empty: unknown
  Cause cause;
  double worst_margin = 0;  ///< of all failing cases, if 10 % above that of the smallest
  /// the case with worst_margin, if it shows this margin again
  std::optional<harness::Case> worst_case;
  bool only_after_others = false;  ///< the case passes in a process of its own
  std::string missing;             ///< what the property needs and the kernel refuses
  std::string skipped;             ///< why a case was SKIPPED; empty: none was
  std::int64_t too_slow = 0;       ///< number of cases that were too slow to be made whole
  std::int64_t refused = 0;        ///< number of drawn cases that were refused, and replaced
  bool gave_up = false;            ///< too many drawn cases were refused, or not for the property
};

}  // namespace ropewalk::properties
