// Fills a tensor with its content before the call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/cases/case.h"

namespace ropewalk::harness {

/// Writes the rows of a tensor that begins at element `at` of a buffer. Rows take the case's
/// explicit values, or numbers of its pattern inside the rotated window and random bits outside it.
/// Elements between the rows keep their bytes. In some cases the rows of tokens without a slot are
/// infinite, if the tensor is appended. `slots`: [batch, tokens], or empty.
void fill_tensor(const Case& c, const rope_problem& p, std::uint32_t tensor, std::int64_t at,
                 const std::vector<std::int64_t>& slots, std::vector<std::byte>& bytes);

}  // namespace ropewalk::harness
