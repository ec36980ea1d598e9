// Makes a failing case small enough to read: one tensor, one token, one head, one pair, contiguous,
// at the smallest position, if that still fails. It works on the case itself, with big steps first.
// It keeps a step only if the same property still fails in the same way.
#pragma once
#include "properties/property.h"

namespace ropewalk::properties {

struct Shrunk {
  harness::Case smallest;
  harness::Finding finding;  ///< of the smallest case; from a fresh process if it fails there
  /// True if the case fails only in a process that has run other cases before. A replay would pass.
  bool only_after_others = false;
  harness::Case worst;      ///< the first of all failing cases with the...
  double worst_margin = 0;  ///< ...the largest margin
};

/// `failing` failed with `first`. Takes about 2 s at most, or 6 s if the case is large, and twice
/// that if other cases had damaged the process. Each try with a crash takes a new process, and each
/// with a hang its time limit, so few are made.
Shrunk shrink(harness::Subject& subject, const Property& property, const Offer& offer,
              const harness::Case& failing, const harness::Finding& first);

}  // namespace ropewalk::properties
