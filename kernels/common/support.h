// What the table kernels of the tree share.
#pragma once
#include "kernels/api/kernel.h"

namespace ropewalk {

/// Takes tables of f32 or f64, for data of the same type.
inline std::int32_t supports_table(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_TABLE, true, reason);
}

/// An apply that goes by the data type.
template <void (*rotate_f32)(const rope_problem&, const rope_operands&),
          void (*rotate_f64)(const rope_problem&, const rope_operands&)>
std::int32_t apply_to_floats(const rope_problem* p, const rope_operands* o, void*) {
  p->tensor[0].in_dtype == ROPE_F64 ? rotate_f64(*p, *o) : rotate_f32(*p, *o);
  return ROPE_OK;
}

/// Calls rotate_head(head, rotary_dim / 2, scale, sign) for every head.
template <class Real, class RotateHead>
void rotate_each_head(const rope_problem& p, const rope_operands& o, RotateHead&& rotate_head) {
  const auto scale = static_cast<Real>(scale_of(p));
  const auto sign = static_cast<Real>(sign_of(p));
  for_each_token(p, o, [&](const Token& token) {
    for_each_head<Real>(p, o, token, [&](const Head<Real>& head) {
      rotate_head(head, p.rotary_dim / 2, scale, sign);
    });
  });
}

}  // namespace ropewalk
