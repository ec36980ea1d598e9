// Growth: a caller of a later version of the header passes longer structs. The fields behind those
// that the kernel knows are 0, which means "as before": the kernel answers and computes as before.
// Where they are not 0, the caller asks for something that the kernel does not know. It may refuse
// that, or compute as before.
//
// Bound: none. Both calls have the same input at the same place, so they give the same bits. The
// property finds a kernel that takes the size of its own struct for the caller's.
//
// Kills by itself: exact_size_asked, copies_whole_struct, fields_behind_read
// Kills by itself: axes_of_exact_size_exact
#include <fmt/format.h>

#include <vector>

#include "harness/judge/judge.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

void compare_outputs(const Run& usual, const Run& grown, const char* what, Tally& tally) {
  for (std::size_t placement = 0; placement < 2; ++placement)
    for (std::size_t i = 0; i < usual.problem.buffers.size(); ++i) {
      const Buffer& buffer = usual.problem.buffers[i];
      if (!buffer.writable) continue;
      const auto &before = usual.execution.outputs[placement],
                 &after = grown.execution.outputs[placement];
      const bool equal = before[i] == after[i];
      tally.add(equal ? 0 : 1, 0, [&](Finding& f) {
        f.bound_unit = "bits";
        f.where = buffer.name;
        f.reason = equal ? "" : fmt::format("longer structs with {} give other bits", what);
      });
    }
}

Finding check(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  const Run usual = run_like(subject, problem, {.steps = 0});
  if (usual.failed()) return usual.failure;
  Run zeros = run_like(subject, problem, {.steps = 0, .growth = protocol::zeros_behind});
  if (zeros.failure.kind == Finding::Kind::unsupported) {
    zeros.failure.kind = Finding::Kind::broken;
    zeros.failure.reason =
        "supports refuses longer structs with zeros behind, which say \"as before\": " +
        zeros.failure.reason;
  }
  if (zeros.failed()) return zeros.failure;
  Tally tally;
  compare_outputs(usual, zeros, "zeros behind", tally);
  const Run values = run_like(subject, problem, {.steps = 0, .growth = protocol::values_behind});
  if (values.failure.kind == Finding::Kind::unsupported) return tally.finding();
  if (values.failed()) return values.failure;
  compare_outputs(usual, values, "values behind", tally);
  return tally.finding();
}

// The simplest case, one with axes, one with as many tensors as the contract's arrays hold, and a
// large one.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  Case c = with(offer.base, offer, "position_from=3");
  std::vector<Case> cases{c, widened(c, offer)};
  cases.back().seed = 2;
  if (offer.takes(Factor::axes)) {
    cases.push_back(c);
    give_axes(cases.back(), offer);
  }
  if (offer.takes(Factor::tensors, level::three)) {
    c.tensors.resize(3, c.tensors[0]);
    c.tensors[2].rotate = false;
    cases.push_back(c);
    c.tensors.push_back(c.tensors[0]);
    cases.push_back(c);
  }
  return cases;
}

const Registered growth({
    .name = "growth",
    .place = {"memory", 320},
    .claim = "longer structs of a later version change nothing",
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
