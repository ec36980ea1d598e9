// Makes a case of levels.
#pragma once
#include <functional>
#include <optional>

#include "harness/cases/case.h"
#include "properties/array/offer.h"

namespace ropewalk::properties {

inline bool have_one_shape(const harness::TensorCase& a, const harness::TensorCase& b) {
  return a.heads == b.heads && a.head_dim == b.head_dim && a.rotary_offset == b.rotary_offset;
}

/// Makes a case that something narrower than a kernel can take. NULL: nothing is to be changed.
using ShapeCase = std::function<void(harness::Case&)>;

/// A valid case of these levels, of the base's kernel, contract, pairing and data type. `seed`
/// draws what the levels leave open. `shape` is called before frequencies and memory are chosen.
/// Empty if the sizes allow no such case.
std::optional<harness::Case> case_of(const Levels& levels, const harness::Case& base,
                                     const Sizes& sizes, std::uint64_t seed,
                                     const ShapeCase& shape = nullptr);

}  // namespace ropewalk::properties
