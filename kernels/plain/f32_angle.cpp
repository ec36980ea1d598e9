// Plain, with the angles that most training code used: the f32 product of the rounded position and
// an f32 frequency. It is right by its own contract (f32_angle). At position 1,000,000 it is a few
// percent away from the exact rotation. The user must know which of the two a model was trained
// with.
#include <cmath>

#include "kernels/common/own_angles.h"

namespace ropewalk {
namespace {

std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  rotate_by_own_angles<float>(*p, *o, [&](std::int64_t i, std::int64_t position) {
    const float angle = static_cast<float>(position) * static_cast<float>(p->inv_freq[i]);
    return Turn{static_cast<float>(std::cos(double{angle})),
                static_cast<float>(std::sin(double{angle}))};
  });
  return ROPE_OK;
}

const RegisteredKernel registered{{
    .name = "plain_f32_angle",
    .summary = "the five-line loop with angles rounded to f32, as models were trained",
    .source = "Hugging Face transformers, modeling_llama.py, LlamaRotaryEmbedding",
    .angle_contract = ROPE_CONTRACT_F32_ANGLE,
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports_own_angles,
    .workspace_bytes = own_angles_workspace_bytes,
    .apply = apply,
}};

}  // namespace
}  // namespace ropewalk
