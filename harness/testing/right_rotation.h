// What the kernels of test plugins do while they behave: f32 with tables, in both pairings.
#pragma once
#include <cstdint>

#include "kernels/api/kernel.h"

namespace ropewalk {

inline void rotate_to(const rope_problem& p, const Head<float>& head, float* to) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(p));
  const auto sign = static_cast<float>(sign_of(p));
  if (head.cos == nullptr || head.sin == nullptr) __builtin_unreachable();
  for (std::int64_t i = 0; i < half; ++i) {
    const PairIndex at = pair_index(p.pairing, i, half);
    const float a = head.in[at.first], b = head.in[at.second], sin = sign * head.sin[i];
    to[at.first] = scale * (a * head.cos[i] - b * sin);
    to[at.second] = scale * (a * sin + b * head.cos[i]);
  }
}

inline void right_head(const rope_problem& p, const Head<float>& head) {
  rotate_to(p, head, head.out);
}

inline std::int32_t right(const rope_problem* p, const rope_operands* o, void*) {
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) { right_head(*p, head); });
  });
  return ROPE_OK;
}

}  // namespace ropewalk
