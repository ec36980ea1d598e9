// A plugin that CMake builds twice: with TWICE it turns each short head twice, first into a scratch
// place, and so takes twice as long.
#include "kernels/api/kernel.h"

namespace ropewalk {
namespace {

void turn(const rope_problem& p, const Head<float>& from, float* out) {
  const std::int64_t half = p.rotary_dim / 2;
  const float scale = static_cast<float>(scale_of(p)), sign = sign_of(p);
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [a, b] = pair_index(p.pairing, i, half);
    const float x1 = from.in[a], x2 = from.in[b], c = from.cos[i], s = sign * from.sin[i];
    out[a] = scale * (x1 * c - x2 * s);
    out[b] = scale * (x2 * c + x1 * s);
  }
}

void rotate(const rope_problem& p, const Head<float>& head) {
#ifdef TWICE
  constexpr std::int64_t room = 512;
  float scratch[room];
  if (p.rotary_dim <= room) turn(p, head, scratch);
  asm volatile("" : : "r"(scratch) : "memory");  // so that the compiler keeps the first turn
#endif
  turn(p, head, head.out);
}

const RegisteredKernel kernel{f32_table_kernel<rotate>("turn")};

}  // namespace
}  // namespace ropewalk
ROPEWALK_PLUGIN();
