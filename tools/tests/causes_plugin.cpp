// Kernels for causes_test, with a sign error that many properties find, and with another beside it.
#include <cmath>

#include "tools/tests/right_rotation.h"

namespace ropewalk {
namespace {

void wrong_sign(const rope_problem& p, const Head<float>& head) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(p)), sign = static_cast<float>(sign_of(p));
  for (std::int64_t i = 0; i < half; ++i) {
    const PairIndex at = pair_index(p.pairing, i, half);
    const float a = head.in[at.first], b = head.in[at.second], sin = sign * head.sin[i];
    head.out[at.first] = scale * (a * head.cos[i] - b * sin);
    head.out[at.second] = scale * (b * head.cos[i] - a * sin);
  }
}

std::int32_t supports(const rope_problem* p, const char** reason) {
  return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, reason);
}

// Sets the last element of a head to 0 where it is not rotated.
std::int32_t two_errors(const rope_problem* p, const rope_operands* o, void*) {
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) { wrong_sign(*p, head); });
    for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
      const rope_tensor& s = p->tensor[i];
      if (s.rotate == 0 || s.rotary_offset + p->rotary_dim == s.head_dim) continue;
      for (std::int64_t h = 0; h < s.heads; ++h)
        static_cast<float*>(
            o->tensor[i].out)[token.batch * s.out_batch_stride + token.index * s.out_token_stride +
                              h * s.out_head_stride + s.head_dim - 1] = 0;
    }
  });
  return ROPE_OK;
}

// Writes zeros in the first call of a process.
std::int32_t first_call(const rope_problem* p, const rope_operands* o, void* state) {
  static bool called = false;
  if (called) return right(p, o, state);
  called = true;
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      for (std::int64_t i = 0; i < p->rotary_dim; ++i) head.out[i] = 0;
    });
  });
  return ROPE_OK;
}

const RegisteredKernel sign{f32_table_kernel<wrong_sign>("causes_sign")};
const RegisteredKernel both{
    {.name = "causes_two_errors", .supports = supports, .apply = two_errors}};
const RegisteredKernel first{
    {.name = "causes_first_call", .supports = supports, .apply = first_call}};

}  // namespace
}  // namespace ropewalk
ROPEWALK_PLUGIN();
