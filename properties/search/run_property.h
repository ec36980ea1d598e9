// Runs one property on one kernel: its fixed cases, then RapidCheck's cases. Shrinks a case that
// fails, also one of the covering array.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "properties/property.h"
#include "properties/property_run.h"
#include "properties/search/draw.h"

namespace ropewalk::properties {

struct RunLimits {
  std::int64_t cases = 100;  ///< number of cases to generate
  std::uint64_t seed = 1;
  bool shrink = true;
  bool one_case = false;  ///< no more than one is judged
  /// Exceptions that were told before (exception_of()): a case that ends so is not shrunk. NULL:
  /// none.
  const std::set<std::string>* told = nullptr;
};

/// The cases of regressions.txt, unchanged. Every kernel that accepts such a case runs it first.
std::vector<harness::Case> regression_corpus();

/// `shared`: what the cases of the covering array told this property; NULL: nothing. They count
/// like its own cases. `draws`: those of the offer; NULL: no cases are drawn.
PropertyRun run_property(harness::Subject& subject, const Property& property,
                         const harness::Offer& offer, Profile profile, const RunLimits& limits,
                         const PropertyRun* shared, CaseDraws* draws);

}  // namespace ropewalk::properties
