// Names the error of a failing case if possible. It looks for other computations that would have
// given the same outputs (properties/explain/hypotheses.h), and for the place of the wrong
// elements.
//
// A cause is said only after a call that would have shown it false. What no call can refute is said
// as a place.
#pragma once
#include <string>

#include "properties/explain/causes.h"
#include "properties/explain/scene.h"
#include "properties/property.h"

namespace ropewalk::properties {

struct Diagnosis {
  /// what the kernel does; empty if no name fits, or if chance could explain it
  Cause cause;
  std::string where;       ///< "only in k, only in heads from 2 on"; empty: everywhere
  bool outside = true;     ///< only what is not rotated is wrong
  std::string first = {};  ///< first_wrong() of the case
};
std::string to_text(const Diagnosis& diagnosis);

/// Explains the outputs of `c`. Looks for a cause in `larger`, a larger case with the same failure,
/// and names it only if it explains `c` as well. Says so if the outputs of `c` are right.
Diagnosis diagnose(const Look& look, const harness::Case& c, const harness::Case& larger);

/// Returns the cause of a failure of `c`, or an empty one, and adds to the finding where elements
/// are wrong. A cause of wrong elements is one of the failure if the case holds once they are put
/// right.
Cause explain(harness::Subject& subject, const Property& property, const harness::Case& c,
              const harness::Case& larger, harness::Finding& finding);

/// For a case that reads past the end of an input with a stride of 0: "walks the heads of q.in,
/// whose stride is 0, as if packed". Said only if the case holds with the heads packed, and with
/// the heads one element further apart. Empty otherwise.
Cause cause_of_crash(harness::Subject& subject, const Property& property, const harness::Case& c,
                     const harness::Finding& crash);

}  // namespace ropewalk::properties
