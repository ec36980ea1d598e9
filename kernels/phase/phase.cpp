// Phase: makes its own angles. No table to load, and right at every position of an int32, because
// the range reduction is the wrap-around of one integer multiplication (common/integer_phase.h).
// Error of a rotation: 2^-36 before rounding, then one rounding to f32: 0.71 u. Scalar and
// readable; the vector version is another kernel.
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/common/support.h"

namespace ropewalk {
namespace {

using Fractions = std::vector<TurnFraction>;  // one a pair

std::int32_t supports(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_INV_FREQ, false, reason);
}

// The workspace: one row of cos and one of sin.
std::size_t workspace_bytes(const rope_problem* p) {
  return static_cast<std::size_t>(p->rotary_dim) * sizeof(float);
}

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
  const std::int64_t half = p->rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(*p));
  const float sign = p->operation == ROPE_TRANSPOSE ? -1.0f : 1.0f;
  auto* cos = static_cast<float*>(o->workspace);
  float* sin = cos + half;
  for_each_token(*p, *o, [&](const Token& token) {
    for (std::int64_t i = 0; i < half; ++i) {
      const CosSin r = cos_sin(phase_of(fractions[static_cast<std::size_t>(i)], token.position));
      cos[i] = static_cast<float>(r.cos);
      sin[i] = sign * static_cast<float>(r.sin);
    }
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [a, b] = pair_index(p->pairing, i, half);
        const float x1 = head.in[a], x2 = head.in[b];
        head.out[a] = scale * (x1 * cos[i] - x2 * sin[i]);
        head.out[b] = scale * (x2 * cos[i] + x1 * sin[i]);
      }
    });
  });
  return ROPE_OK;
}

const RegisteredKernel registered{{
    .name = "phase",
    .summary = "own angles by a 64-bit integer phase",
    .source = "this project",
    .angle_contract = ROPE_CONTRACT_EXACT,
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .prepare = prepare,
    .apply = apply,
    .release = release,
}};

}  // namespace
}  // namespace ropewalk
