// Sequences of calls of one state, at equal addresses with new contents, as a decode loop makes
// them.
#pragma once
#include <vector>

#include "harness/cases/case.h"
#include "harness/judge/judge.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// The cases of a property that makes sequences. `shift` tells which: last_sequence or less.
inline constexpr std::int64_t last_sequence = -2;
std::vector<harness::Case> sequence_cases(const harness::Offer& offer, const std::string& property);

/// Makes the calls of the case's sequence. Each is held to the bound of agreement.
harness::Finding check_sequence(harness::Subject& subject, const harness::Case& c);

}  // namespace ropewalk::properties
