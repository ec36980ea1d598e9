// Names the cause of a crash, as far as calls with other strides can show it.
#pragma once
#include <string>

#include "properties/property.h"

namespace ropewalk::properties {

/// For a case that reads past the end of an input with a stride of 0: "walks the heads of q.in,
/// whose stride is 0, as if packed". Said only if the case holds with the heads packed, and with
/// the heads one element further apart. Empty otherwise.
std::string cause_of_crash(harness::Subject& subject, const Property& property,
                           const harness::Case& c, const harness::Finding& crash);

}  // namespace ropewalk::properties
