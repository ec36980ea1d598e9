// Replaces the inputs of a problem that is already laid out. Laws about several calls need this.
#pragma once
#include <functional>

#include "harness/cases/problem.h"

namespace ropewalk::harness {

/// Gives every pair of every rotated head a new value, which must be exact in the data type.
void replace_pairs(
    Problem& p,
    const std::function<PairValue(int placement, const HeadPlace& at, std::int64_t pair)>& value);

/// Maps a head of the problem to fill to the head of the other problem that it copies.
using HeadSource = std::function<HeadPlace(const HeadPlace&)>;

/// Gives every head of `to` the elements of its source in `from`, bit for bit.
void copy_heads(const Problem& from, Problem& to, const HeadSource& source);

/// Gives the second placement the positions of the first.
void keep_positions(Problem& p);

}  // namespace ropewalk::harness
