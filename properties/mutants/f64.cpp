// Errors of f64 data, where u is 2^-53. The frame of the other mutants is f32.
#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

std::int32_t supports_f64(const rope_problem* p, const char** reason) {
  if (p->tensor[0].in_dtype != ROPE_F64) return refuse(reason, "only f64 data");
  return supports_float_data(*p, ROPE_ANGLES_TABLE, true, reason);
}

// Each value passes through the type Narrow: float, or double for no change.
template <class Narrow>
std::int32_t apply_f64(const rope_problem* p, const rope_operands* o, void*) {
  const std::int64_t half = p->rotary_dim / 2;
  const auto scale = static_cast<Narrow>(scale_of(*p));
  const Narrow sign = p->operation == ROPE_TRANSPOSE ? -1 : 1;
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<double>(*p, *o, token, [&](const Head<double>& head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [a, b] = pair_index(p->pairing, i, half);
        const auto x1 = static_cast<Narrow>(head.in[a]), x2 = static_cast<Narrow>(head.in[b]);
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): supports refuses without a table
        const auto c = static_cast<Narrow>(head.cos[i]), s = static_cast<Narrow>(head.sin[i]);
        head.out[a] = double{scale * (x1 * c - x2 * sign * s)};
        head.out[b] = double{scale * (x2 * c + x1 * sign * s)};
      }
    });
  });
  return ROPE_OK;
}

template <class Narrow>
KernelInfo f64_info(const char* name) {
  KernelInfo info = table_info<Correct>(name);
  info.supports = supports_f64;
  info.apply = apply_f64<Narrow>;
  return info;
}

// Computes f64 data in f32, like kernels that cast every input to float first. Seen by all
// properties but untouched_dims and unwritten_outputs.
const RegisteredKernel f64_in_f32{f64_info<float>("mutant_f64_in_f32_table")};

// The same frame without the error.
const RegisteredKernel f64_control{f64_info<double>("control_f64_table")};

}  // namespace
}  // namespace ropewalk::mutants
