// Runs one property on one kernel: its fixed cases, then RapidCheck's, shrinking what fails.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "properties/property.h"

namespace ropewalk::properties {

struct PropertyRun {
  std::int64_t planned = 0;   ///< cases
  std::int64_t executed = 0;  ///< of them run by the kernel
  std::int64_t compared = 0;  ///< of them with something compared
  std::int64_t values = 0;    ///< compared in all
  harness::Finding worst;     ///< of the passing cases, or of the failing one after shrinking
  std::optional<harness::Case> failing;  ///< the smallest failing case found
  std::string cause;        ///< of it: what the kernel does instead, where that can be told
  double worst_margin = 0;  ///< of all failing cases, where a tenth above the smallest's
  std::optional<harness::Case> worst_case;  ///< that gives it, where it does so again
  bool only_after_others = false;           ///< it passes in a process of its own
  bool gave_up = false;                     ///< too many generated cases were refused by the kernel
};

struct RunLimits {
  std::int64_t cases = 100;  ///< to generate
  std::uint64_t seed = 1;
  bool shrink = true;
};

PropertyRun run_property(harness::Subject& subject, const Property& property,
                         const harness::Offer& offer, Profile profile, const RunLimits& limits);

}  // namespace ropewalk::properties
