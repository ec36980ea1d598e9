// Places a kernel's simplest case (harness/judge/offer.h) among the levels of the covering array.
#pragma once
#include "properties/array/offered_levels.h"

namespace ropewalk::properties {

/// The levels of a base. A size that no level holds counts as that of the level below it.
Levels levels_of_base(const harness::Case& base);

/// What is known before the first question: cases have the levels and sizes of the base. They keep
/// what no level says of it: a K with another head than Q, and sizes that no level holds.
OfferedLevels base_alone(const harness::Case& base);

}  // namespace ropewalk::properties
