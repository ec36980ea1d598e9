// Agreement: every pair is the exact rotation of its input, within what rounding excuses.
//
// Bound, per pair (reference/bounds.h): (1 + gamma u) - 1 relative to |x| |r^| against a given
// table; with a rotation of the kernel's own, off by at most 2 u, (1 + gamma u)(1 + 2 u) - 1
// against the real one. gamma = sqrt(5): the largest error of a complex product in floating point.
#include "harness/judge.h"
#include "properties/property.h"

namespace ropewalk {
namespace {

Finding check(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  const Execution execution = execute(subject, problem);
  const Finding failure = failure_of(execution);
  return failure.kind == Finding::Kind::measured ? compare_with_truth(subject, problem, execution)
                                                 : failure;
}

void shape(Case&, const Offer&) {}

// Every usual head size once, so that none is left to chance.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  for (const HeadSize size : offer.sizes) {
    Case c = offer.base;
    c.property = "agreement";
    c.rotary_dim = size.rotary_dim;
    c.position_from = 5;
    for (TensorCase& t : c.tensors) t.head_dim = size.head_dim;
    cases.push_back(c);
  }
  return cases;
}

}  // namespace

const Property agreement{
    "agreement", "every pair is the exact rotation of its input", true, nullptr, shape, fixed_cases,
    check};

}  // namespace ropewalk
