// In place = out of place: the place of the result does not change it.
//
// Bound: none if the kernel promises ROPE_BITWISE_INVARIANT, else 2 e rho. The property finds an
// element that is overwritten before its partner is computed.
//
// Kills by itself: stored_too_early, promises_bits
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const auto placed = [&](bool in_place) {
    Case out = c;
    out.fused = out.one_buffer = false;
    for (TensorCase& t : out.tensors) {
      t.in_place = in_place;
      if (in_place) t.out = t.in;
      if (in_place) t.out_at = t.in_at;
    }
    return out;
  };
  const Run apart = run(subject, placed(false));
  if (apart.failed()) return apart.failure;
  const Run in_place = run(subject, placed(true));
  if (in_place.failed()) return in_place.failure;
  Tally tally;
  compare_same(subject, apart, in_place, nullptr, "in place differs from out of place", tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.in_place && offer.out_of_place;
}

void shape(Case& c, const Offer&) {
  for (TensorCase& t : c.tensors) t.in_place = false;
}

const Registered placement({
    .name = "placement",
    .order = 180,
    .claim = "in place gives what out of place gives",
    .applies = applies,
    .needs = "both in place and out of place",
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
