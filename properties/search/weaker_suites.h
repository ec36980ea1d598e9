// The checks of other suites, on the same kernels and through the same worker. `ropewalk mutants`
// compares with them to show what stricter checks find. verify does not run them.
#pragma once
#include "properties/property.h"

namespace ropewalk::properties {

/// The suite of the name below, a typical repository's test, cosine similarity, and normalised mean
/// square error.
const std::vector<const Property*>& weaker_suites();

/// This suite's own bounds on the cases that agreement has without the covering array.
inline constexpr std::string_view without_array = "without_array";

/// The three properties that RoFormer's text names, judged by this suite's bounds.
inline constexpr std::string_view three_laws[] = {"norm", "relative_position", "decay"};

}  // namespace ropewalk::properties
