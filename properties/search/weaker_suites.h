// What other suites check, on the same kernels through the same worker: for `ropewalk mutants`, to
// say what the strictness buys. They are no part of verify.
#pragma once
#include "properties/property.h"

namespace ropewalk::properties {

/// A typical repository's test, cosine similarity, and the normalised mean square error.
const std::vector<const Property*>& weaker_suites();

/// The three properties that RoFormer's own text names; judged by this suite's bounds.
inline constexpr std::string_view three_laws[] = {"norm", "relative_position", "decay"};

}  // namespace ropewalk::properties
