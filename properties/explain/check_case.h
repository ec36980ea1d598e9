// Checks a property on a case if there is memory for the case.
#pragma once
#include "properties/property.h"

namespace ropewalk::properties {

/// Calls Property::check. Returns SKIPPED, with the reason, if there is not enough memory for the
/// case.
harness::Finding check_case(const Property& property, harness::Subject& subject,
                            const harness::Case& c);

}  // namespace ropewalk::properties
