// Phase: makes its own angles, so it loads no table. It is right at every position of an int32: one
// integer multiplication wraps around, and that is the exact range reduction
// (common/integer_phase.h). A rotation is off by 2^-36 before one rounding to f32, 0.71 u together.
// Its plain loops become vector code.
#include "kernels/common/integer_phase.h"
#include "kernels/common/own_angles.h"
#include "kernels/common/turn_fractions.h"

namespace ropewalk {
namespace {

// f64 data would need a phase of 128 bits.
std::int32_t supports(const rope_problem* p, const char** reason) {
  const std::int32_t dtype = p->tensor[0].in_dtype;
  if (dtype == ROPE_F64) return refuse(reason, "only f32, f16 and bf16 data");
  if (norm_of(*p) != nullptr && dtype != ROPE_F32)
    return refuse(reason, "a norm only of f32 data, as 16-bit data would be rounded behind it");
  return supports_data(*p, ROPE_ANGLES_INV_FREQ, dtype, reason);
}

std::int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  const TurnFractions& fractions = *static_cast<const TurnFractions*>(state);
  const auto turn_of = [&](std::int64_t i, std::int64_t position) {
    const CosSin r = cos_sin(phase_of(fractions[static_cast<std::size_t>(i)], position));
    return Turn{static_cast<float>(r.cos), static_cast<float>(r.sin)};
  };
  return with_floating_type(Dtype{p->tensor[0].in_dtype},
                            [&]<class Data>(std::type_identity<Data>) -> std::int32_t {
                              if constexpr (!std::is_same_v<TableOf<Data>, float>) {
                                return ROPE_FAILED;
                              } else {
                                rotate_by_own_angles<Data>(*p, *o, turn_of);
                                return ROPE_OK;
                              }
                            });
}

const RegisteredKernel registered{{
    .name = "phase",
    .summary = "computes its angles from a 64-bit integer phase",
    .source = "this project",
    .angle_contract = ROPE_CONTRACT_EXACT,
    .flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT,
    .extensions = extension_bit(ROPE_EXT_AXES) | extension_bit(ROPE_EXT_NORM) |
                  extension_bit(ROPE_EXT_APPEND),
    .supports = supports,
    .workspace_bytes = own_angles_workspace_bytes,
    .prepare = prepare_fractions,
    .apply = apply,
    .release = release_fractions,
}};

}  // namespace
}  // namespace ropewalk
