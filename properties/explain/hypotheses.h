// What a wrong kernel may have computed instead of the truth. Each hypothesis gives the outputs
// that it predicts.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/explain/diagnosis.h"
#include "properties/explain/scene.h"

namespace ropewalk::properties {

struct Hypothesis {
  Cause cause;  ///< what the kernel does wrong
  /// The output of a pair under this hypothesis; empty if the hypothesis does not apply.
  std::function<std::optional<std::complex<double>>(const Seen&)> output;
  /// The length of the longest input pair in that output; NULL: it has one pair, turned.
  std::function<double(const Seen&)> reach = nullptr;
  /// An element of the row of a pair, outside the window; NULL: it is copied.
  std::function<std::optional<double>(const Seen&, std::int64_t)> outside = nullptr;
};

// Both lists have a fixed order and length, so hypothesis n means the same in every scene.

/// The hypotheses without a free parameter, the simplest first. They refer to the scene.
std::vector<Hypothesis> fixed_hypotheses(const Scene& scene);

/// The hypotheses with one number, which is read off the wrong pairs of `fitted_to`. Each must
/// explain more pairs than were needed to find its number.
std::vector<Hypothesis> fitted_hypotheses(const Scene& scene, const Scene& fitted_to);

/// Adds those that the rows of a table lie at another distance from each other.
void add_table_rows(const Scene& scene, std::vector<Hypothesis>& list);

class Facts;
/// Adds those about the norm before the rotation. They refer to the facts and to the scene.
void add_norm(const Facts& k, const Scene& scene, std::vector<Hypothesis>& list);

/// A rounding to a 16-bit data type, which leaves errors of about the bound. Roundings are told
/// from one another by the bits of the outputs and not by distances.
///
/// Finds the rounding that gives the outputs of both cases, and says which error_bound would
/// declare it, unless the errors are larger. None is found for f32 and f64 data.
Diagnosis rounding_of(const Look& look, const harness::Case& c, const harness::Case& larger);

}  // namespace ropewalk::properties
