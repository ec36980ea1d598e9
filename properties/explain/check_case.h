// A claim on a case, where there is memory for it.
#pragma once
#include "properties/property.h"

namespace ropewalk::properties {

/// Property::check; SKIPPED, with the reason, where the memory for the case cannot be had.
harness::Finding check_case(const Property& property, harness::Subject& subject,
                            const harness::Case& c);

}  // namespace ropewalk::properties
