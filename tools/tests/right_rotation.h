// What the kernels of these test plugins do while they behave: f32 with tables, in both pairings.
#pragma once
#include <cstdint>

#include "kernels/common/support.h"

namespace ropewalk {

inline std::int32_t right(const rope_problem* p, const rope_operands* o, void*) {
  rotate_each_head<float>(
      *p, *o, [&](const Head<float>& head, std::int64_t half, float scale, float sign) {
        for (std::int64_t i = 0; i < half; ++i) {
          const PairIndex at = pair_index(p->pairing, i, half);
          const float a = head.in[at.first], b = head.in[at.second], sin = sign * head.sin[i];
          head.out[at.first] = scale * (a * head.cos[i] - b * sin);
          head.out[at.second] = scale * (a * sin + b * head.cos[i]);
        }
      });
  return ROPE_OK;
}

}  // namespace ropewalk
