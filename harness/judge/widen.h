// Elements of a 16-bit type as float.
#pragma once
#include <cstddef>
#include <vector>

#include "kernels/api/types.h"

namespace ropewalk::harness {

/// Fills `to` with as many elements from `from` on. The dtype is f16 or bf16. The values are exact.
void widen(Dtype dtype, const std::byte* from, std::vector<float>& to);

}  // namespace ropewalk::harness
