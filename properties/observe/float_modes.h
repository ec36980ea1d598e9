// What a kernel makes of a caller whose floating-point unit is not as the contract asks: with flush
// to zero, or rounding another way. Information, not a verdict: the contract excludes such callers.
#pragma once
#include <string>
#include <vector>

#include "harness/judge/executor.h"

namespace ropewalk::properties {

struct FloatModeNote {
  std::string mode;    ///< "rounding up"
  std::string effect;  ///< against round-to-nearest, in words
};

/// Every mode, for the pairing and type that the kernel offers first; empty where it offers none.
std::vector<FloatModeNote> float_mode_notes(harness::Subject& subject);

}  // namespace ropewalk::properties
