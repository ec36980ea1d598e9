// What a wrong kernel may have computed instead: each gives the output that it would explain.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis.h"

namespace ropewalk {

struct Hypothesis {
  std::string name;  ///< what the kernel does
  /// The output of a pair under it; nothing where it says nothing.
  std::function<std::optional<std::complex<double>>(const Seen&)> output;
};

/// Those without a free parameter, the plainest first.
std::vector<Hypothesis> fixed_hypotheses(const Scene& scene);

/// Those whose one number is read off the wrong pairs: it must explain more of them than it takes
/// to find it.
std::vector<Hypothesis> fitted_hypotheses(const Scene& scene);

}  // namespace ropewalk
