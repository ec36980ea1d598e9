// Every element of an output: rotated pairs against the truth, the others against their input.
#pragma once
#include "harness/judge/judge.h"
#include "properties/property.h"

namespace ropewalk {

/// What lies outside the rotated windows, bit for bit.
Finding compare_untouched(const Problem& problem, const Execution& execution);

/// Both, of one execution; the worse finding, with what was compared in all.
inline Finding check_whole_output(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  const Execution execution = execute(subject, problem);
  const Finding failure = failure_of(execution);
  if (failure.kind != Finding::Kind::measured) return failure;
  Finding pairs = compare_with_truth(subject, problem, execution);
  Finding others = compare_untouched(problem, execution);
  const std::int64_t compared = pairs.compared + others.compared;
  Finding& worse = others.compared > 0 && !(others.margin <= pairs.margin) ? others : pairs;
  worse.compared = compared;
  return worse;
}

}  // namespace ropewalk
