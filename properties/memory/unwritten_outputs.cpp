// Unwritten outputs: every element of every output row is written, and nothing else. The outputs
// begin as poison, with another payload in each of two runs. An element that is still poison was
// not written. Memory between and around the rows must still be poison, which every execution
// checks.
//
// Kills by itself: untouched_never_written, two_tensors_only
#include <algorithm>

#include "harness/cases/checked.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

std::int64_t written_elements(const Problem& p) {
  std::int64_t count = 0;
  for (const Buffer& b : p.buffers)
    if (!b.holds_input) count += std::count(b.owned.begin(), b.owned.end(), 1);
  return count;
}

Finding judge(Subject&, const Problem& problem, const Execution& execution, const RowSample&) {
  Finding f;
  f.compared = std::ssize(execution.outputs) * written_elements(problem);
  f.bound_unit = "elements";
  if (execution.unwritten_elements > 0) {
    f.margin = static_cast<double>(execution.unwritten_elements);
    f.where = execution.unwritten;
    f.reason = "output elements were never written";
  }
  return f;
}

Finding check(Subject& subject, const Case& c) {
  require(
      std::any_of(c.tensors.begin(), c.tensors.end(), [](const auto& t) { return !t.in_place; }),
      "unwritten_outputs: needs in_place=0, as an output that is an input has no poison");
  const Run done = run(subject, c);
  return done.failed() ? done.failure : judge(subject, done.problem, done.execution, {});
}

const Registered unwritten_outputs({
    .name = "unwritten_outputs",
    .order = 240,
    .claim = "every output element is written",
    .applies = [](const Offer& offer) { return offer.out_of_place; },
    .needs = "an output of its own",
    .shape =
        [](Case& c, const Offer&) {
          for (TensorCase& t : c.tensors) t.in_place = false;
        },
    .check = check,
    .judge = judge,
});

}  // namespace
}  // namespace ropewalk::properties
