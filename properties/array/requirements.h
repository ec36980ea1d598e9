// What levels of factors require of each other.
#pragma once
#include <vector>

#include "properties/array/factors.h"

namespace ropewalk::properties {

/// What two or more levels require of each other. `holds` reads the named factors alone.
struct Requirement {
  std::vector<Factor> factors;
  bool (*holds)(const Levels&, Dtype, std::int32_t contract);
};
/// All requirements, beside those that a kernel's refusals add.
const std::vector<Requirement>& requirements();

}  // namespace ropewalk::properties
