// Kernels for the transcript one_shape. Some take the heads of one model alone, as many kernels for
// GPUs do. Some take any shape and are wrong in one.
#include <algorithm>
#include <complex>

#include "harness/testing/right_rotation.h"

namespace ropewalk {
namespace {

struct Heads {
  std::int64_t q, k, head_dim;
};
constexpr Heads llama{32, 8, 128}, odd{6, 2, 44};

bool has_heads(const rope_problem& p, const Heads& wanted) {
  return p.tensor_count == 2 && p.tensor[0].heads == wanted.q && p.tensor[1].heads == wanted.k &&
         p.tensor[0].head_dim == wanted.head_dim && p.tensor[1].head_dim == wanted.head_dim &&
         p.rotary_dim == wanted.head_dim;
}

std::int32_t any_shape(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_TABLE, false, reason);
}
template <const Heads& wanted>
std::int32_t one_shape(const rope_problem* p, const char** reason) {
  if (p->pairing != ROPE_HALF_SPLIT) return refuse(reason, "only half_split");
  if (!has_heads(*p, wanted)) return refuse(reason, "only the heads of one model");
  return any_shape(p, reason);
}
// A head of deepseek-v3, which no basic case has.
std::int32_t latent_shape(const rope_problem* p, const char** reason) {
  const bool takes = p->tensor_count == 2 && p->rotary_dim == 64 && p->tensor[0].heads == 128 &&
                     p->tensor[0].head_dim == 192 && p->tensor[0].rotary_offset == 128 &&
                     p->tensor[1].heads == 1 && p->tensor[1].head_dim == 64;
  return takes ? any_shape(p, reason) : refuse(reason, "only latent attention");
}
// No case of the suite has such a head. The reasons come in the order of the checks.
std::int32_t no_shape(const rope_problem* p, const char** reason) {
  if (p->tensor[0].in_dtype != ROPE_F16) return refuse(reason, "only f16");
  if (p->pairing != ROPE_INTERLEAVED) return refuse(reason, "only interleaved pairs");
  if (p->tensor[0].head_dim != 1000) return refuse(reason, "head_dim must be 1000");
  return ROPE_OK;
}

std::int32_t no_last_head(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem seen = *p;
  --seen.tensor[1].heads;
  return right(&seen, o, state);
}
std::int32_t wrong_as_llama(const rope_problem* p, const rope_operands* o, void* state) {
  return has_heads(*p, llama) ? no_last_head(p, o, state) : right(p, o, state);
}
std::int32_t right_as_odd(const rope_problem* p, const rope_operands* o, void*) {
  if (p->rotary_dim == odd.head_dim) return right(p, o, nullptr);
  rope_problem seen = *p;
  seen.operation = ROPE_TRANSPOSE - p->operation;
  return right(&seen, o, nullptr);
}

// Right in every small case, and wrong as the heads of llama are timed with what the name says.
std::int32_t no_scale_as_llama(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem seen = *p;
  if (has_heads(*p, llama)) seen.attention_scale = 0;
  return right(&seen, o, state);
}
std::int32_t narrow_as_llama(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem seen = *p;
  if (has_heads(*p, llama)) seen.position_dtype = ROPE_I32;
  return right(&seen, o, state);
}
std::int32_t packed_as_llama(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem seen = *p;
  if (has_heads(*p, llama))
    for (rope_tensor& t : seen.tensor) t.in_head_stride = t.out_head_stride = t.head_dim;
  return right(&seen, o, state);
}

// Counts tokens x heads of a prompt in 16 bits.
std::int32_t short_prompt_as_llama(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem seen = *p;
  if (has_heads(*p, llama)) seen.tokens = std::min<std::int64_t>(p->tokens, 0xffff / llama.q);
  return right(&seen, o, state);
}

// Kernels that take their extensions in every call, each with a twin that drops one of them.
template <bool axes, bool append, bool plus_one>
std::int32_t together(const rope_problem* p, const char** reason) {
  const rope_norm* const norm = norm_of(*p);
  const bool takes = norm != nullptr && (norm->weight_plus_one != 0) == plus_one &&
                     (append_of(*p) != nullptr) == append && (axes_of(*p) != nullptr) == axes &&
                     (axes || plus_one || p->tensor_count == 3) && p->max_position < 4096;
  return takes ? supports_float_data(*p, ROPE_ANGLES_INV_FREQ, false, reason)
               : refuse(reason, "only what it takes together");
}
template <bool is_right>
std::int32_t turn_together(const rope_problem* p, const rope_operands* o, void*) {
  rope_problem seen = *p;
  rope_norm norm = *norm_of(*p);  // stands before the others
  const rope_axes* const axes = is_right ? axes_of(*p) : nullptr;
  if (!is_right && axes_of(*p) == nullptr && norm.weight_plus_one == 0) norm.tensors = 1;
  if (!is_right) norm.weight_plus_one = 0;
  norm.ext.next = p->next;
  seen.next = &norm.ext;
  for_each_token(seen, *o, [&](const Token& token) {
    for_each_head<float>(seen, *o, token, [&](const Head<float>& head) {
      for (std::int64_t i = 0, half = p->rotary_dim / 2; i < half; ++i) {
        const auto at = axes ? on_axes(*p, *o, *axes, token).on[axes->axis_of_pair[i]] : token;
        const double angle = static_cast<double>(at.position) * p->inv_freq[i];
        const auto [first, second] = pair_index(p->pairing, i, half);
        const std::complex<double> turned = scale_of(*p) * std::polar(1.0, angle * sign_of(*p)) *
                                            std::complex<double>(head.in[first], head.in[second]);
        head.out[first] = static_cast<float>(turned.real());
        head.out[second] = static_cast<float>(turned.imag());
      }
    });
  });
  return ROPE_OK;
}
template <bool is_right, bool axes, bool append, bool plus_one>
RegisteredKernel takes_together(const char* name) {
  KernelInfo k{
      .name = name, .supports = together<axes, append, plus_one>, .apply = turn_together<is_right>};
  k.angle_contract = ROPE_CONTRACT_EXACT;
  k.extensions = std::uint32_t{axes} << ROPE_EXT_AXES | 1u << ROPE_EXT_NORM |
                 std::uint32_t{append} << ROPE_EXT_APPEND;
  return RegisteredKernel(k);
}

const RegisteredKernel kernels[] = {
    takes_together<true, false, true, false>("together_qkv"),
    takes_together<false, false, true, false>("together_qkv_wrong"),
    takes_together<true, false, false, true>("together_plus_one"),
    takes_together<false, false, false, true>("together_plus_one_wrong"),
    takes_together<true, true, true, false>("together_all_three"),
    takes_together<false, true, true, false>("together_all_three_wrong"),
    RegisteredKernel{{.name = "shape_of_llama", .supports = one_shape<llama>, .apply = right}},
    RegisteredKernel{
        {.name = "shape_of_llama_wrong", .supports = one_shape<llama>, .apply = no_last_head}},
    RegisteredKernel{{.name = "shape_odd", .supports = one_shape<odd>, .apply = right}},
    RegisteredKernel{{.name = "shape_latent", .supports = latent_shape, .apply = right}},
    RegisteredKernel{{.name = "shape_of_none", .supports = no_shape, .apply = right}},
    RegisteredKernel{
        {.name = "shape_any_wrong_as_llama", .supports = any_shape, .apply = wrong_as_llama}},
    RegisteredKernel{
        {.name = "shape_any_right_as_odd", .supports = any_shape, .apply = right_as_odd}},
    RegisteredKernel{{.name = "shape_no_scale", .supports = any_shape, .apply = no_scale_as_llama}},
    RegisteredKernel{
        {.name = "shape_narrow_positions", .supports = any_shape, .apply = narrow_as_llama}},
    RegisteredKernel{
        {.name = "shape_packed_heads", .supports = any_shape, .apply = packed_as_llama}},
    RegisteredKernel{
        {.name = "shape_short_prompt", .supports = any_shape, .apply = short_prompt_as_llama}},
};

}  // namespace
}  // namespace ropewalk

ROPEWALK_PLUGIN();
