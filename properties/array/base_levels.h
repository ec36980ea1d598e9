// Places a kernel's simplest case (harness/judge/offer.h) among the levels of the covering array.
#pragma once
#include "properties/array/offered_levels.h"

namespace ropewalk::properties {

/// The levels of a base. A size that no level holds counts as that of the level below it.
Levels levels_of_base(const harness::Case& base);

/// Makes cases keep what no level says of the base: a K with another head than Q, and sizes that no
/// level holds. `offered` has the levels of the base and of the bytes, and no others yet.
void take_odd_base(OfferedLevels& offered);

}  // namespace ropewalk::properties
