// A whole kernel for the Ropewalk contract: f32 data, a given table, both pairings, any strides.
#include <kernels/api/kernel.h>
using namespace ropewalk;

static std::int32_t supports(const rope_problem* p, const char** reason) {
  bool f32 = p->angle_source == ROPE_ANGLES_TABLE && p->table_dtype == ROPE_F32;
  for (std::uint32_t i = 0; i < p->tensor_count; ++i) f32 &= p->tensor[i].in_dtype == ROPE_F32;
  if (!f32 && reason != nullptr) *reason = "only f32 data with a table of f32";
  return f32 ? ROPE_OK : ROPE_UNSUPPORTED;
}

static std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  const float a = static_cast<float>(scale_of(*p)), sign = p->operation == ROPE_TRANSPOSE ? -1 : 1;
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      for (std::int64_t i = 0; i < p->rotary_dim / 2; ++i) {
        const auto [first, second] = pair_index(p->pairing, i, p->rotary_dim / 2);
        const float x1 = head.in[first], x2 = head.in[second];
        head.out[first] = a * (x1 * head.cos[i] - x2 * sign * head.sin[i]);
        head.out[second] = a * (x2 * head.cos[i] + x1 * sign * head.sin[i]);
      }
    });
  });
  return ROPE_OK;
}

static const RegisteredKernel registered{
    {.name = "example_cpp", .summary = "an example", .supports = supports, .apply = apply}};
ROPEWALK_PLUGIN();
