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

/// The bytes that hold a tensor's input in a placement, to be changed.
std::vector<std::byte>& input_bytes(Problem& p, int placement, std::uint32_t tensor);

/// Calls visit(placement, place) for every head of every tensor, in both placements.
template <class Visit>
void for_each_head_of(const Problem& p, Visit&& visit) {
  for (const int placement : {0, 1})
    for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i)
      for (std::int64_t b = 0; b < p.asked.batch; ++b)
        for (std::int64_t t = 0; t < p.asked.tokens; ++t)
          for (std::int64_t h = 0; h < p.asked.tensor[i].heads; ++h)
            visit(placement, HeadPlace{i, b, t, h});
}

}  // namespace ropewalk::harness
