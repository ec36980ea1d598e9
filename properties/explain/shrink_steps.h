// The steps that shrinking takes (properties/explain/shrink.cpp): cases that are simpler in one
// way, or in many at once. What they make may be no valid case.
#pragma once
#include <cstdint>
#include <vector>

#include "harness/cases/case.h"

namespace ropewalk {

std::int64_t largest_position(const Case& c);
/// Whether rows of an input share elements.
bool inputs_overlap(const Case& c);

void drop_values(Case& c);
/// Batch rows [row, row + rows) and tokens [token, token + tokens).
Case part_of(const Case& c, std::int64_t row, std::int64_t rows, std::int64_t token,
             std::int64_t tokens);
Case with_heads(const Case& c, std::int64_t heads);
Case with_pairs(const Case& c, std::int64_t pairs);
Case with_listed_positions(const Case& c);
std::vector<Case> basis_vectors(const Case& c);

using CaseSource = std::vector<Case> (*)(const Case&);
/// Big steps first.
std::vector<CaseSource> step_sources();

/// Every single step that shrinking may take from this case; for tests.
std::vector<Case> smaller_cases(const Case& c);

}  // namespace ropewalk
