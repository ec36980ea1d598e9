// Roundings to a 16-bit data type, which leave errors of about the bound. They are told from one
// another by the bits of the outputs and not by distances.
#pragma once
#include <string>

#include "properties/explain/scene.h"

namespace ropewalk::properties {

struct Rounded {
  std::string cause;   ///< "rounds each product to bf16 before the sum"; empty: none is found
  std::string advice;  ///< "error_bound = 5 would declare it"; empty: the errors are larger
};

/// Finds the rounding that gives the outputs of both cases. None is found for f32 and f64 data.
Rounded rounding_of(const Look& look, const harness::Case& c, const harness::Case& larger);

}  // namespace ropewalk::properties
