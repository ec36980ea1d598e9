// How a kernel behaves in floating-point modes other than the contract's: with flush to zero, or
// with another rounding. This is information and no verdict, because the contract excludes such
// callers.
#pragma once
#include <string>
#include <vector>

#include "harness/judge/executor.h"

namespace ropewalk::properties {

struct FloatModeNote {
  std::string mode;    ///< "rounding up"
  std::string effect;  ///< the change from round-to-nearest, in words
};

/// A note for every mode, for the pairing and type that the kernel offers first. Empty if it offers
/// none.
std::vector<FloatModeNote> float_mode_notes(harness::Subject& subject);

}  // namespace ropewalk::properties
