// A claim on a case, where there is memory for it.
#pragma once
#include "properties/property.h"

namespace ropewalk {

/// Property::check; SKIPPED, with the reason, where the memory for the case cannot be had.
Finding check_case(const Property& property, Subject& subject, const Case& c);

}  // namespace ropewalk
