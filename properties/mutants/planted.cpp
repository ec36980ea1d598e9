#include "properties/mutants/planted.h"

#include "kernels/common/support.h"

ROPEWALK_PLUGIN();

namespace ropewalk::mutants {
namespace {

// An index into a tensor, from strides of [batch, tokens, heads].
std::int64_t row_index(const rope_problem& p, const rope_tensor& s,
                       const std::int64_t (&strides)[3], std::int64_t batch, std::int64_t token,
                       std::int64_t head) {
  return (p.batch > 1 ? batch * strides[0] : 0) + (p.tokens > 1 ? token * strides[1] : 0) +
         (s.heads > 1 ? head * strides[2] : 0);
}

void make_row(Correct& hooks, const rope_problem& p, std::int64_t position, float* cos, float* sin,
              std::int64_t pairs) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    const CosSin r = hooks.rotation(hooks.frequency(p, i), position);
    cos[i] = static_cast<float>(r.cos);
    sin[i] = static_cast<float>(r.sin);
  }
}

void rotate_head(Correct& hooks, const rope_problem& p, const Head<float>& head, const float* cos,
                 const float* sin) {
  const float sign = hooks.sin_sign(p);
  const auto scale = static_cast<float>(scale_of(p));
  for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) {
    if (hooks.leaves_out(p, i)) continue;
    const PairIndex at = hooks.entries(p, i);
    hooks.rotate({head.in, head.out, pair_index(p.pairing, i, p.rotary_dim / 2),
                  hooks.entry(cos[at.first]), sign * hooks.entry(sin[at.first]),
                  hooks.entry(cos[at.second]), sign * hooks.entry(sin[at.second]), scale, i});
  }
}

}  // namespace

std::int32_t run(Correct& hooks, const rope_problem& asked, const rope_operands& given) {
  rope_problem p = asked;
  rope_operands o = given;
  hooks.see(p, o);
  auto* own_cos = static_cast<float*>(o.workspace);
  float* own_sin = own_cos == nullptr ? nullptr : own_cos + asked.rotary_dim / 2;
  for_each_token(p, o, [&](Token token) {
    hooks.locate(p, token);
    if (own_cos != nullptr)
      make_row(hooks, p, token.position, own_cos, own_sin, asked.rotary_dim / 2);
    for_each_head<float>(p, o, token, [&](const Head<float>& head) {
      const bool own = head.cos == nullptr;
      rotate_head(hooks, p, head, own ? own_cos : head.cos, own ? own_sin : head.sin);
    });
  });
  hooks.finish(p, o);
  return ROPE_OK;
}

std::int32_t supports_table(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_TABLE, false, reason);
}

float* out_row(const rope_problem& p, const rope_operands& o, std::uint32_t tensor,
               std::int64_t batch, std::int64_t token, std::int64_t head) {
  const rope_tensor& s = p.tensor[tensor];
  return static_cast<float*>(o.tensor[tensor].out) +
         row_index(p, s, {s.out_batch_stride, s.out_token_stride, s.out_head_stride}, batch, token,
                   head);
}

const float* in_row(const rope_problem& p, const rope_operands& o, std::uint32_t tensor,
                    std::int64_t batch, std::int64_t token, std::int64_t head) {
  const rope_tensor& s = p.tensor[tensor];
  return static_cast<const float*>(o.tensor[tensor].in) +
         row_index(p, s, {s.in_batch_stride, s.in_token_stride, s.in_head_stride}, batch, token,
                   head);
}

}  // namespace ropewalk::mutants
