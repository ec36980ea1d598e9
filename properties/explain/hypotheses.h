// What a wrong kernel may have computed instead: each gives the output that it would explain.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/explain/diagnosis.h"

namespace ropewalk::properties {

struct Hypothesis {
  std::string name;  ///< what the kernel does
  /// The output of a pair under it; nothing where it says nothing.
  std::function<std::optional<std::complex<double>>(const Seen&)> output;
};

// Both lists have a fixed order and length: hypothesis n means the same of every scene.

/// Those without a free parameter, the plainest first. They refer to the scene.
std::vector<Hypothesis> fixed_hypotheses(const Scene& scene);

/// Those whose one number is read off the wrong pairs of `fitted_to`: it must explain more of them
/// than it takes to find it.
std::vector<Hypothesis> fitted_hypotheses(const Scene& scene, const Scene& fitted_to);

}  // namespace ropewalk::properties
