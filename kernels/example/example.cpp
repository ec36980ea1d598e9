// A complete kernel: f32 data, a given table, both pairings, any strides, forward and backward.
#include <kernels/api/kernel.h>

static void rotate(const rope_problem& p, const ropewalk::Head<float>& head) {
  const float scale = static_cast<float>(ropewalk::scale_of(p));
  const std::int64_t half = p.rotary_dim / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [first, second] = ropewalk::pair_index(p.pairing, i, half);
    const float x1 = head.in[first], x2 = head.in[second];
    const float c = head.cos[i], s = ropewalk::sign_of(p) * head.sin[i];
    head.out[first] = scale * (x1 * c - x2 * s);
    head.out[second] = scale * (x2 * c + x1 * s);
  }
}

static const ropewalk::RegisteredKernel kernel{ropewalk::f32_table_kernel<rotate>("example_cpp")};
ROPEWALK_PLUGIN();
