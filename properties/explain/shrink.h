// Makes a failing case small enough to read: one tensor, one token, one head, one pair, contiguous,
// at the smallest position, where that still fails. Works on the case itself, big steps first, and
// keeps a step only if the same property still fails in the same way.
#pragma once
#include "properties/property.h"

namespace ropewalk::properties {

struct Shrunk {
  harness::Case smallest;
  harness::Finding finding;  ///< of the smallest case, in a fresh process where it fails there
  /// Fails only in a process that has run other cases before: a replay would pass.
  bool only_after_others = false;
  harness::Case worst;      ///< of all cases that failed on the way, the first with...
  double worst_margin = 0;  ///< ...the largest margin
};

/// `failing` failed with `first`. About 2 s at most, and twice that where other cases had damaged
/// the process; a crash costs a process and a hang its time limit for each try: few of them.
Shrunk shrink(harness::Subject& subject, const Property& property, const harness::Offer& offer,
              const harness::Case& failing, const harness::Finding& first);

}  // namespace ropewalk::properties
