// The pieces of a case's buffers that a call uses, and the addresses for pieces that lie far apart.
#pragma once
#include <cstdint>
#include <functional>

#include "harness/cases/problem.h"

namespace ropewalk::harness {

/// A row of a tensor, a row of a table or a position: where it begins in its buffer, in elements.
struct Piece {
  int buffer;
  std::int64_t far, near;
  std::uint64_t bytes;
};

/// Calls visit(piece) for all that the call of a placement uses. `near` is laid out as `near.asked`
/// says; `far` has the same sizes. Throws BadCase if an index overflows.
void for_each_piece(const Problem& near, const Problem& far, int placement,
                    const std::function<void(const Piece&)>& visit);

/// True if the parent and its worker can map this many bytes, below 2^63, touched or not.
bool addresses_for(std::uint64_t bytes);

}  // namespace ropewalk::harness
