#include "properties/truth/first_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding judged(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  const Execution made = execute(subject, problem);
  const Finding f = failure_of(made);
  return f.kind == Finding::Kind::measured ? compare_with_truth(subject, problem, made) : f;
}

// Judges several cases in a worker that has made no other calls. Returns the last one's finding.
Finding judged_in_order(Subject& subject, const std::vector<Case>& cases) {
  Worker worker = subject.worker.another();
  Subject fresh{worker, subject.oracle, subject.facts, subject.shapes};
  Finding last;
  for (const Case& c : cases) last = judged(fresh, c);
  return last;
}

bool fails(const Finding& f) {
  return f.ran() && !f.holds() && !(f.kind == Finding::Kind::measured && f.compared == 0);
}

// A short forward call out of place, of 32 bits if the case has 16. The kernel may refuse it.
Case plain(Case c) {
  c.operation = Operation::forward;
  if (data_type(c.dtype).bytes == 2) c.dtype = Dtype::f32;
  c.tokens = std::min<std::int64_t>(c.tokens, 3);
  c.position_rule = PositionRule::consecutive;
  c.positions.clear();
  for (TensorCase& t : c.tensors) {
    t.in_place = false;
    t.values.clear();
  }
  return c;
}

}  // namespace

std::vector<Case> first_call_cases(const Offer& offer) {
  std::vector<Case> cases;
  Case c = offer.base;
  c.property = "history";
  c.shift = first_of_process;
  c.position_from = 3;
  if (c.dtype != Dtype::f32) cases.push_back(c);
  if (offer.in_place) {
    cases.push_back(c);
    for (TensorCase& t : cases.back().tensors) t.in_place = true;
  }
  if (offer.transpose) {
    cases.push_back(c);
    cases.back().operation = Operation::transpose;
  }
  if (offer.tokens) {
    cases.push_back(widened(c, offer));
    cases.back().tokens = 96;
  }
  return cases;
}

Finding check_first_call(Subject& subject, const Case& c) {
  const Case later = plain(c);
  // A start with a device or an interpreter takes a second, so only the usual form gets it there.
  const bool is_usual = c.dtype == Dtype::f32 && c.pairing == Pairing::half_split;
  if (!subject.facts.device.empty() && !is_usual) return judged(subject, c);
  Worker worker = subject.worker.another();
  Subject fresh{worker, subject.oracle, subject.facts, subject.shapes};
  Finding first = judged(fresh, c);
  if (fails(first) && judged_in_order(subject, {later, c}).holds())
    first.reason += " (only in the first call of a process)";
  if (!first.holds()) return first;
  Finding then = judged(fresh, later);
  // An error that a plain call has without a history is not charged here.
  if (!fails(then) || fails(judged_in_order(subject, {later}))) return first;
  then.where += ", after the first call of the process";
  return then;
}

}  // namespace ropewalk::properties
