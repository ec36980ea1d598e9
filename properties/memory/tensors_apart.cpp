// Tensors apart: Q and K in one call, with their own heads and strides, give what each gives alone.
//
// Bound: 2 e rho, as the contract promises no equal bits here. The property finds shapes and
// strides of one tensor that are used for another.
//
// Kills by itself: heads_of_first_tensor, strides_of_first_tensor
#include <utility>
#include <vector>

#include "harness/cases/checked.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// The case with tensor `tensor` alone.
Case alone(const Case& c, std::uint32_t tensor) {
  Case out = contiguous_case(c);
  out.tensors = {out.tensors[tensor]};
  return out;
}

Finding check(Subject& subject, const Case& c) {
  require(!c.own_tables,
          "tensors_apart: needs own_tables=0, as all tensors must turn by the same angles");
  const Run together = run(subject, c);
  if (together.failed()) return together.failure;
  Tally tally;
  for (std::uint32_t tensor = 0; tensor < c.tensors.size(); ++tensor) {
    if (!c.tensors[tensor].rotate) continue;
    const auto source = [tensor](HeadPlace at) {
      at.tensor = tensor;
      return at;
    };
    Problem problem = make_problem(alone(c, tensor), subject.oracle);
    copy_heads(together.problem, problem, source);
    const Run single = run(subject, std::move(problem));
    // A kernel may take another type only beside the usual one.
    if (single.failure.kind == Finding::Kind::unsupported && tensor_dtype(c, tensor) != c.dtype)
      continue;
    if (single.failed()) return single.failure;
    compare(
        subject, together, single,
        {"Q and K in one call differ from each alone", source, nullptr,
         [&](double rho, std::uint32_t of) { return 2 * error_of_one_call(subject, c, of, rho); }},
        tally);
  }
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.two_tensors && offer.each_alone;
}

void shape(Case& c, const Offer&) {
  c.own_tables = false;
  if (c.tensors.size() < 2) c.tensors.resize(2, c.tensors[0]);
}

// K of each other type beside Q. A type that the kernel refuses is not planned, nor f64 under the
// f32_angle contract, which is not for it.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  if (!offer.mixed_types) return cases;
  Case c = with(widened(offer.base, offer), offer, {.from = 3});
  c.tensors.resize(2, c.tensors[0]);
  for (const Dtype dtype : types_beside(c.dtype)) {
    if (c.contract == ROPE_CONTRACT_F32_ANGLE && dtype == Dtype::f64) continue;
    c.tensors[1].dtype = dtype;
    cases.push_back(c);
  }
  return cases;
}

const Registered tensors_apart({
    .name = "tensors_apart",
    .order = 220,
    .claim = "Q and K in one call give what each gives alone",
    .applies = applies,
    .needs = "two tensors in one call, and each alone",
    .shape = shape,
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
