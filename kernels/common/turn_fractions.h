// The turn fractions of a problem, which a kernel with angles by an integer phase keeps from
// prepare to release.
#pragma once
#include <memory>
#include <new>
#include <vector>

#include "kernels/api/rope_kernel.h"
#include "kernels/common/integer_phase.h"

namespace ropewalk {

using TurnFractions = std::vector<TurnFraction>;  ///< one for each pair

inline TurnFractions turn_fractions_of(const rope_problem& p) {
  TurnFractions fractions;
  for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i)
    fractions.push_back(turn_fraction(p.inv_freq[i]));
  return fractions;
}

/// A prepare whose state is the fractions, and its release.
inline std::int32_t prepare_fractions(const rope_problem* p, void** state) {
  try {
    *state = std::make_unique<TurnFractions>(turn_fractions_of(*p)).release();
    return ROPE_OK;
  } catch (const std::bad_alloc&) {
    return ROPE_FAILED;
  }
}
inline void release_fractions(void* state) {
  delete static_cast<TurnFractions*>(state);
}

}  // namespace ropewalk
