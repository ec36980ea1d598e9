// Plain: the five-line loop a user would write first, and the honest baseline of every board.
#include "kernels/api/kernel.h"
#include "kernels/common/support.h"

namespace ropewalk {
namespace {

template <class Real>
void rotate(const rope_problem& p, const rope_operands& o) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto scale = static_cast<Real>(scale_of(p));
  const auto sign = static_cast<Real>(p.operation == ROPE_TRANSPOSE ? -1 : 1);
  for_each_token(p, o, [&](const Token& token) {
    for_each_head<Real>(p, o, token, [&](const Head<Real>& head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [a, b] = pair_index(p.pairing, i, half);
        const Real x1 = head.in[a], x2 = head.in[b], c = head.cos[i], s = sign * head.sin[i];
        head.out[a] = scale * (x1 * c - x2 * s);
        head.out[b] = scale * (x2 * c + x1 * s);
      }
    });
  });
}

std::int32_t supports(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_TABLE, true, reason);
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  p->tensor[0].in_dtype == ROPE_F64 ? rotate<double>(*p, *o) : rotate<float>(*p, *o);
  return ROPE_OK;
}

const RegisteredKernel registered{{
    .name = "plain",
    .summary = "the five-line loop",
    .source = "RoFormer, arXiv:2104.09864, section 3.4.2",
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .supports = supports,
    .apply = apply,
}};

}  // namespace
}  // namespace ropewalk
