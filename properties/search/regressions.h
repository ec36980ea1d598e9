// Cases that once refuted a kernel (regressions.txt). Every kernel that accepts such a case runs it
// first.
#pragma once
#include <vector>

#include "properties/property.h"

namespace ropewalk::properties {

/// The corpus lines for this property, as cases of this kernel's contract, pairing and type. Lines
/// that make no sense there (a negative position with a table by position) are left out.
std::vector<harness::Case> regressions_of(const Property& property, const harness::Offer& offer);

/// All lines of the corpus, unchanged.
std::vector<harness::Case> regression_corpus();

}  // namespace ropewalk::properties
