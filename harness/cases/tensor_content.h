// What a tensor of a case holds before the call.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/cases/case.h"

namespace ropewalk::harness {

/// Writes the rows of a tensor that begins at element `at` of a buffer: the case's own values, or
/// numbers of its pattern in the rotated window and any bits beside it, from its seed. What lies
/// between the rows stays.
void fill_tensor(const Case& c, const rope_problem& p, std::uint32_t tensor, std::int64_t at,
                 std::vector<std::byte>& bytes);

}  // namespace ropewalk::harness
