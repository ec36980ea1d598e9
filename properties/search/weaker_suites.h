// The checks of other suites, on the same kernels and through the same worker. `ropewalk mutants`
// compares with them to show what stricter checks find. verify does not run them.
#pragma once
#include "properties/property.h"

namespace ropewalk::properties {

/// A typical repository's test, cosine similarity, and normalised mean square error.
const std::vector<const Property*>& weaker_suites();

/// The three properties that RoFormer's text names, judged by this suite's bounds.
inline constexpr std::string_view three_laws[] = {"norm", "relative_position", "decay"};

}  // namespace ropewalk::properties
