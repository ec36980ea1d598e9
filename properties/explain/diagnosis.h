// Names the error of a failing case where it can be told: other computations that would have given
// just these outputs (properties/explain/hypotheses.h), and where the wrong pairs are.
#pragma once
#include <complex>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/judge.h"

namespace ropewalk::properties {

/// One pair of the outputs beside the truth, in double: finer than any error that has a name.
struct Seen {
  harness::HeadPlace at;
  std::int64_t pair, position;
  int placement;
  std::complex<double> x, r, y, truth;  ///< input, its rotation, output, what it should be
  double bound;                         ///< of |y - truth|
  bool wrong, unwritten;                ///< unwritten: an element still is the poison of before
};

/// A problem, and every pair of what a kernel made of it.
struct Scene {
  harness::Problem problem;
  Oracle& oracle;
  std::vector<Seen> pairs;
};
Scene scene_of(harness::Subject& subject, harness::Problem problem,
               const harness::Execution& execution);

/// What a kernel makes of a case; nothing where it gives no outputs, and where there are too many
/// to look at.
using Look = std::function<std::optional<Scene>(const harness::Case&)>;
Look look_at(harness::Subject& subject);

struct Diagnosis {
  std::string cause;  ///< what the kernel does; empty where nothing fits, or where chance would do
  std::string where;  ///< "only in k, only in heads from 2 on"; empty: everywhere
};
std::string to_text(const Diagnosis& diagnosis);

/// Of the outputs of `c`. A cause is sought in `larger`, the same failure with more to tell it
/// from, and named only if it explains `c` as well. Nothing where the outputs of `c` are right.
Diagnosis diagnose(const Look& look, const harness::Case& c, const harness::Case& larger);

}  // namespace ropewalk::properties
