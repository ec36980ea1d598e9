// Cases that refuted a kernel once (regressions.txt): every kernel that takes them meets them
// first.
#pragma once
#include <vector>

#include "properties/property.h"

namespace ropewalk::properties {

/// The lines of the corpus for this property, as cases of this kernel's contract, pairing and type.
/// Those that make no sense there (a negative position under a table by position) are left out.
std::vector<harness::Case> regressions_of(const Property& property, const harness::Offer& offer);

/// All lines as they stand.
std::vector<harness::Case> regression_corpus();

}  // namespace ropewalk::properties
