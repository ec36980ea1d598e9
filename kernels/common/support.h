// Functions that the tree's table kernels share.
#pragma once
#include "kernels/api/kernel.h"

namespace ropewalk {

/// Accepts data of f32 or f64, with a table of the same type.
inline std::int32_t supports_table(const rope_problem* p, const char** reason) {
  return supports_float_data(*p, ROPE_ANGLES_TABLE, true, reason);
}

/// An apply that chooses the function by the data type.
template <void (*rotate_f32)(const rope_problem&, const rope_operands&),
          void (*rotate_f64)(const rope_problem&, const rope_operands&)>
std::int32_t apply_to_floats(const rope_problem* p, const rope_operands* o, void*) {
  p->tensor[0].in_dtype == ROPE_F64 ? rotate_f64(*p, *o) : rotate_f32(*p, *o);
  return ROPE_OK;
}

/// Calls call(Data{}) with the C++ type of the problem's data.
template <class Call>
void with_data_type(const rope_problem& p, Call&& call) {
  with_floating_type(Dtype{p.tensor[0].in_dtype},
                     [&]<class Data>(std::type_identity<Data>) { call(Data{}); });
}

/// Calls rotate_head(head, rotary_dim / 2, scale, sign) for every head. For kernels that refuse a
/// problem without a table.
template <class Data, class RotateHead>
void rotate_each_head(const rope_problem& p, const rope_operands& o, RotateHead&& rotate_head) {
  const auto scale = static_cast<TableOf<Data>>(scale_of(p));
  const auto sign = static_cast<TableOf<Data>>(sign_of(p));
  for_each_token(p, o, [&](const Token& token) {
    for_each_head<Data>(p, o, token, [&](const Head<Data>& head) {
      if (head.cos == nullptr || head.sin == nullptr) __builtin_unreachable();
      rotate_head(head, p.rotary_dim / 2, scale, sign);
    });
  });
}

}  // namespace ropewalk
