// Negative positions: position -m turns as far back as m turns forward, R_(-m) = R_m^T.
//
// Bound: cos is even and sin is odd, so both sides turn by the same exact angle. Each is off by e =
// (1 + gamma u)(1 + |r^ - r|) - 1, so 2 |a| e rho together. The angles of the f32_angle contract
// are odd too. A table holds its own angles, so only kernels that make their own angles are
// checked.
//
// Kills by itself: positions_without_sign, backward_is_forward_exact
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const Run forward = run(subject, with_positions(c, [](std::int64_t p) { return p; }));
  if (forward.failed()) return forward.failure;
  Case mirrored = with_positions(c, [](std::int64_t p) { return -p; });
  mirrored.operation = reversed(c.operation);
  const Run back = run(subject, mirrored);
  if (back.failed()) return back.failure;
  Tally tally;
  compare(subject, forward, back,
          {"position -m does not undo position m", nullptr, nullptr,
           [&](double rho, std::uint32_t tensor) {
             return 2 * error_of_one_call(subject, c, tensor, rho);
           }},
          tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.negative_positions && offer.transpose && offer.base.contract != ROPE_CONTRACT_TABLE;
}

const Registered negative_positions({
    .name = "negative_positions",
    .order = 150,
    .claim = "position -m turns as far back as m turns forward",
    .applies = applies,
    .needs = "angles of the kernel's own at negative positions, and a backward pass",
    .shape = any_case,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
