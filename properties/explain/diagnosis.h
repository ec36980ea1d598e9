// Names the error of a failing case if possible. It looks for other computations that would have
// given the same outputs (properties/explain/hypotheses.h), and for the place of the wrong pairs.
#pragma once
#include <complex>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/judge.h"

namespace ropewalk::properties {

inline std::complex<double> as_complex(const harness::PairValue& z) {
  return {static_cast<double>(z.re), static_cast<double>(z.im)};
}

/// One pair of the outputs beside the truth, in double, which is finer than any error that has a
/// name.
struct Seen {
  harness::HeadPlace at;
  std::int64_t pair, position;
  int placement;
  std::complex<double> x, r, y, truth;  ///< input, its rotation, output, exact output
  double bound;                         ///< bound on |y - truth|
  bool wrong, unwritten;                ///< unwritten: an element still is poison
  bool read_poison;                     ///< an element is the poison that lies around the inputs
};

/// A problem, and every pair of a kernel's outputs.
struct Scene {
  harness::Problem problem;
  Oracle& oracle;
  std::vector<Seen> pairs;
};
Scene scene_of(harness::Subject& subject, harness::Problem problem,
               const harness::Execution& execution);

/// The same subject, with every wrong pair of a rotated head put right before it is judged. A case
/// of more than 2^19 pairs stays as it is.
harness::Subject put_right(const harness::Subject& subject);

/// Said of a failure without a cause that is one of single pairs: put right, the claim holds.
inline constexpr std::string_view holds_put_right = "holds once the wrong pairs are put right";

/// Said of a failure that a second call of the same case, in the same process, does not have.
inline constexpr std::string_view only_at_first = "only in the first call of a process";

/// Runs a case. Empty if the kernel gives no outputs, or if there are too many pairs to compare.
using Look = std::function<std::optional<Scene>(const harness::Case&)>;
Look look_at(harness::Subject& subject);

struct Diagnosis {
  /// what the kernel does; empty if no name fits, or if chance could explain it
  std::string cause;
  std::string where;  ///< "only in k, only in heads from 2 on"; empty: everywhere
};
std::string to_text(const Diagnosis& diagnosis);

/// Explains the outputs of `c`. Looks for a cause in `larger`, a larger case with the same failure,
/// and names it only if it explains `c` as well. Says so if the outputs of `c` are right.
Diagnosis diagnose(const Look& look, const harness::Case& c, const harness::Case& larger);

}  // namespace ropewalk::properties
