// Cases that refuted a kernel once (regressions.txt): every kernel that takes them meets them
// first.
#pragma once
#include <vector>

#include "properties/property.h"

namespace ropewalk {

/// The lines of the corpus for this property, as cases of this kernel's contract, pairing and type.
/// Those that make no sense there (a negative position under a table by position) are left out.
std::vector<Case> regressions_of(const Property& property, const Offer& offer);

/// All lines as they stand.
std::vector<Case> regression_corpus();

}  // namespace ropewalk
