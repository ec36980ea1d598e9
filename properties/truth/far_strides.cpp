// Far strides: rows may lie more than 2^31 elements apart, because offsets are 64-bit numbers.
// Three rows lie along one axis, 2^30 + 64 elements from each other. So the third is 2^31 + 128
// elements behind the first, which 32 bits cannot hold, in elements or in bytes. The memory between
// them is never touched, so a case takes addresses and hardly any memory. Without the addresses the
// case is SKIPPED.
//
// Bound: that of agreement.
//
// Kills by itself: offsets_in_32, byte_offsets_in_32
#include <vector>

#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t far_stride = (std::int64_t{1} << 30) + 64;

Finding check(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  const int axis = static_cast<int>(((c.shift % 3) + 3) % 3);
  Execution e;
  const Call first{protocol::step_supports | protocol::step_prepare | protocol::step_apply, 0,
                   false};
  const Call second{protocol::step_apply | protocol::step_release, 1, false};
  perform_far(subject, problem, first, axis, far_stride, e, e.outputs[0]);
  if (e.result.kind == CallResult::Kind::ok)
    perform_far(subject, problem, second, axis, far_stride, e, e.outputs[1]);
  const Finding failure = failure_of(e);
  return failure.kind == Finding::Kind::measured ? compare_with_truth(subject, problem, e)
                                                 : failure;
}

bool applies(const Offer& offer) {
  return offer.padded && (offer.batch || offer.tokens || offer.many_heads);
}

std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    Case c = offer.base;
    c.property = "far_strides";
    c.position_from = 3;
    c.shift = axis;
    if (!(axis == 0 ? offer.batch : axis == 1 ? offer.tokens : offer.many_heads)) continue;
    if (axis == 0) c.batch = 3;
    if (axis == 1) c.tokens = 3;
    for (TensorCase& t : c.tensors) {
      if (axis == 2) t.heads = 3;
      t.in_place = offer.in_place && (axis == 1 || !offer.out_of_place);
    }
    cases.push_back(c);
    // Other code paths: vectors, the backward pass, the second tensor.
    if (offer.transpose) c.operation = Operation::transpose;
    if (offer.two_tensors && c.tensors.size() == 1) c.tensors.push_back(c.tensors[0]);
    cases.push_back(widened(c, offer));
  }
  return cases;
}

const Registered far_strides({
    .name = "far_strides",
    .order = 310,
    .claim = "rows may lie more than 2^31 elements apart",
    .judged_by_oracle = true,
    .applies = applies,
    .needs = "strides that leave gaps",
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
