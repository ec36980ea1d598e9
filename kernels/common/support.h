// What the kernels of the tree share: what they ask of a problem before they say yes, and the walk
// over all heads.
#pragma once
#include <cstdint>

#include "kernels/api/kernel.h"

namespace ropewalk {

inline std::int32_t refuse(const char** reason, const char* why) {
  if (reason != nullptr) *reason = why;
  return ROPE_UNSUPPORTED;
}

/// ROPE_OK for f32 or f64 data (f64 only where `f64_too`), one type in all tensors and the table.
inline std::int32_t supports_float_data(const rope_problem& p, std::int32_t angle_source,
                                        bool f64_too, const char** reason) {
  if (p.angle_source != angle_source)
    return refuse(reason, angle_source == ROPE_ANGLES_TABLE ? "needs a table of cos and sin"
                                                            : "makes its own angles, no table");
  const std::int32_t dtype = p.tensor[0].in_dtype;
  if (dtype != ROPE_F32 && !(f64_too && dtype == ROPE_F64))
    return refuse(reason, f64_too ? "only f32 and f64 data" : "only f32 data");
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    if (p.tensor[i].in_dtype != dtype || p.tensor[i].out_dtype != dtype)
      return refuse(reason, "all tensors must have one data type");
  if (angle_source == ROPE_ANGLES_TABLE && p.table_dtype != dtype)
    return refuse(reason, "the table must have the data type of the tensors");
  return ROPE_OK;
}

/// Of the kernels that take a table of f32 or f64.
inline std::int32_t supports_table(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_TABLE, true, reason);
}

/// Calls rotate_head(head, rotary_dim / 2, scale, sign) for every head; sign is -1 on the way back.
template <class Real, class RotateHead>
void rotate_each_head(const rope_problem& p, const rope_operands& o, RotateHead&& rotate_head) {
  const auto scale = static_cast<Real>(scale_of(p));
  const auto sign = static_cast<Real>(p.operation == ROPE_TRANSPOSE ? -1 : 1);
  for_each_token(p, o, [&](const Token& token) {
    for_each_head<Real>(p, o, token, [&](const Head<Real>& head) {
      rotate_head(head, p.rotary_dim / 2, scale, sign);
    });
  });
}

}  // namespace ropewalk
