// Other inputs for a problem already laid out: what laws about several calls need.
#pragma once
#include <functional>

#include "harness/cases/problem.h"

namespace ropewalk::harness {

/// Gives every pair of every rotated head another value, which must be one of the data type.
void replace_pairs(
    Problem& p,
    const std::function<PairValue(int placement, const HeadPlace& at, std::int64_t pair)>& value);

/// Which head of one problem stands at a place of another.
using HeadSource = std::function<HeadPlace(const HeadPlace&)>;

/// Gives every head of `to` the elements of its source in `from`, bit for bit.
void copy_heads(const Problem& from, Problem& to, const HeadSource& source);

/// Lets both placements have the positions of the first.
void keep_positions(Problem& p);

}  // namespace ropewalk::harness
