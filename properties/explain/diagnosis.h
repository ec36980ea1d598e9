// Names the error of a failing case if possible. It looks for other computations that would have
// given the same outputs (properties/explain/hypotheses.h), and for the place of the wrong
// elements.
//
// A cause is said only after a call that would have shown it false. What no call can refute is said
// as a place.
#pragma once
#include <string>
#include <string_view>

#include "properties/explain/scene.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// Said of a failure without a cause that wrong elements explain: put right, the claim holds.
inline constexpr std::string_view holds_put_right = "holds once the wrong elements are put right";

/// Said of a failure that a second call of the same case, in the same process, does not have.
inline constexpr std::string_view only_at_first = "only in the first call of a process";

/// Where nothing else is wrong: at the beginning of `where`.
inline constexpr std::string_view only_outside = "only in what is not rotated";

struct Diagnosis {
  /// what the kernel does; empty if no name fits, or if chance could explain it
  std::string cause;
  std::string where;       ///< "only in k, only in heads from 2 on"; empty: everywhere
  std::string first = {};  ///< first_wrong() of the case
};
std::string to_text(const Diagnosis& diagnosis);

/// Explains the outputs of `c`. Looks for a cause in `larger`, a larger case with the same failure,
/// and names it only if it explains `c` as well. Says so if the outputs of `c` are right.
Diagnosis diagnose(const Look& look, const harness::Case& c, const harness::Case& larger);

/// Returns the cause of a failure of `c`, or an empty text, and adds to the finding where elements
/// are wrong. A cause of wrong elements is one of the failure if the case holds once they are put
/// right.
std::string explain(harness::Subject& subject, const Property& property, const harness::Case& c,
                    const harness::Case& larger, harness::Finding& finding);

/// For a case that reads past the end of an input with a stride of 0: "walks the heads of q.in,
/// whose stride is 0, as if packed". Said only if the case holds with the heads packed, and with
/// the heads one element further apart. Empty otherwise.
std::string cause_of_crash(harness::Subject& subject, const Property& property,
                           const harness::Case& c, const harness::Finding& crash);

}  // namespace ropewalk::properties
