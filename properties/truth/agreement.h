// What other properties of this room share with agreement.
#pragma once
#include <vector>

#include "harness/judge/executor.h"
#include "harness/judge/finding.h"
#include "properties/array/offer.h"

namespace ropewalk::properties {

/// Checks that every pair is the exact rotation of its input, within the bound of the kernel's
/// contract.
harness::Finding check_agreement(harness::Subject& subject, const harness::Case& c);

/// Adds the case with an input that its heads, tokens or batch rows share, as far as offered. A
/// case of one tensor is added with two as well: Q as usual, and K shared.
void add_broadcasts(std::vector<harness::Case>& cases, const harness::Case& c, const Offer& offer);

}  // namespace ropewalk::properties
