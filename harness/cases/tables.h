// The tables of cos and sin that a case is given.
#pragma once
#include "harness/cases/problem.h"

namespace ropewalk::harness {

/// From the first element of a table, by token that of one axis, to the end of its last row.
std::int64_t elements_of_table(const rope_problem& p);

/// Adds the tables of all tensors, for the positions of both placements.
void add_tables(const Case& c, Problem& out, Oracle& oracle);

}  // namespace ropewalk::harness
