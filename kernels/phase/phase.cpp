// Phase: makes its own angles. No table to load, and right at every position of an int32, because
// the range reduction is the wrap-around of one integer multiplication (common/integer_phase.h).
// Error of a rotation: 2^-36 before rounding, then one rounding to f32: 0.71 u. Plain loops
// that compilers turn into vector code.
#include <memory>
#include <new>
#include <vector>

#include "kernels/common/integer_phase.h"
#include "kernels/common/own_angles.h"

namespace ropewalk {
namespace {

using Fractions = std::vector<TurnFraction>;  // one a pair

std::int32_t prepare(const rope_problem* p, void** state) {
  try {
    auto fractions = std::make_unique<Fractions>();
    for (std::int64_t i = 0; i < p->rotary_dim / 2; ++i)
      fractions->push_back(turn_fraction(p->inv_freq[i]));
    *state = fractions.release();
    return ROPE_OK;
  } catch (const std::bad_alloc&) {
    return ROPE_FAILED;
  }
}

void release(void* state) {
  delete static_cast<Fractions*>(state);
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  const Fractions& fractions = *static_cast<const Fractions*>(state);
  rotate_by_own_angles(*p, *o, [&](std::int64_t i, std::int64_t position) {
    const CosSin r = cos_sin(phase_of(fractions[static_cast<std::size_t>(i)], position));
    return Turn{static_cast<float>(r.cos), static_cast<float>(r.sin)};
  });
  return ROPE_OK;
}

const RegisteredKernel registered{{
    .name = "phase",
    .summary = "own angles by a 64-bit integer phase",
    .source = "this project",
    .angle_contract = ROPE_CONTRACT_EXACT,
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_own_angles,
    .workspace_bytes = own_angles_workspace_bytes,
    .prepare = prepare,
    .apply = apply,
    .release = release,
}};

}  // namespace
}  // namespace ropewalk
