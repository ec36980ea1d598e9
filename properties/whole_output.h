// Compares every element of an output: rotated pairs with the truth, the others with their input.
#pragma once
#include "harness/judge/judge.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// Compares the elements outside the rotated windows, bit for bit, at the tokens of the sample.
harness::Finding compare_untouched(const harness::Problem& problem,
                                   const harness::Execution& execution,
                                   const harness::RowSample& sample = {});

/// Makes both comparisons. Returns the worse finding, with the number of comparisons of both.
inline harness::Finding compare_whole_output(harness::Subject& subject,
                                             const harness::Problem& problem,
                                             const harness::Execution& execution) {
  const harness::Finding failure = harness::failure_of(execution);
  if (failure.kind != harness::Finding::Kind::measured) return failure;
  harness::Finding pairs = harness::compare_with_truth(subject, problem, execution);
  harness::Finding others = compare_untouched(problem, execution);
  const std::int64_t compared = pairs.compared + others.compared;
  harness::Finding& worse =
      others.compared > 0 && !(others.margin <= pairs.margin) ? others : pairs;
  worse.compared = compared;
  return worse;
}

/// Runs a case and makes both comparisons.
inline harness::Finding check_whole_output(harness::Subject& subject, const harness::Case& c) {
  const harness::Problem problem = harness::make_problem(c, subject.oracle);
  return compare_whole_output(subject, problem, harness::execute(subject, problem));
}

}  // namespace ropewalk::properties
