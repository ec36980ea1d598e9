// What the kernels of these test plugins do while they behave: f32 with tables, in both pairings.
#pragma once
#include <cstdint>

#include "kernels/api/kernel.h"

namespace ropewalk {

inline std::int32_t right(const rope_problem* p, const rope_operands* o, void*) {
  const float scale = p->attention_scale == 0 ? 1.0f : static_cast<float>(p->attention_scale);
  const float turn = p->operation == ROPE_TRANSPOSE ? -1.0f : 1.0f;
  const std::int64_t half = p->rotary_dim / 2;
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const PairIndex at = pair_index(p->pairing, i, half);
        const float a = head.in[at.first], b = head.in[at.second], sin = turn * head.sin[i];
        head.out[at.first] = scale * (a * head.cos[i] - b * sin);
        head.out[at.second] = scale * (a * sin + b * head.cos[i]);
      }
    });
  });
  return ROPE_OK;
}

}  // namespace ropewalk
