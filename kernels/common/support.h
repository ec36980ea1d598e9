// Functions that the tree's table kernels share.
#pragma once
#include "kernels/common/fused_nodes.h"

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

/// Accepts any floating-point data, each tensor of a type of its own, with a table of any
/// floating-point type.
inline std::int32_t supports_any_types(const rope_problem* p, const char** reason) {
  if (p->angle_source != ROPE_ANGLES_TABLE) return refuse(reason, "needs a table of cos and sin");
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    if (!is_floating(p->tensor[i].in_dtype) || p->tensor[i].out_dtype != p->tensor[i].in_dtype)
      return refuse(reason, "only floating-point data, of one type in each tensor");
  return is_floating(p->table_dtype) ? ROPE_OK : refuse(reason, "only a floating-point table");
}

/// Calls call(problem, operands) for each tensor, with that tensor alone.
template <class Call>
void for_each_tensor_alone(const rope_problem& p, const rope_operands& o, Call&& call) {
  rope_problem one = p;
  rope_operands at = o;
  one.tensor_count = 1;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    one.tensor[0] = p.tensor[i];
    at.tensor[0] = o.tensor[i];
    FusedNodes nodes(p, o);
    nodes.keep_alone(i);
    nodes.link(one, at);
    call(one, at);
  }
}

/// Calls call(Data{}) with the C++ type of the problem's data.
template <class Call>
void with_data_type(const rope_problem& p, Call&& call) {
  with_floating_type(Dtype{p.tensor[0].in_dtype},
                     [&]<class Data>(std::type_identity<Data>) { call(Data{}); });
}

/// Calls rotate_head(head, rotary_dim / 2, scale, sign) for every head. For kernels that refuse a
/// problem without a table.
template <class Data, class Table = TableOf<Data>, class RotateHead>
void rotate_each_head(const rope_problem& p, const rope_operands& o, RotateHead&& rotate_head) {
  const auto scale = static_cast<TableOf<Data>>(scale_of(p));
  const auto sign = static_cast<TableOf<Data>>(sign_of(p));
  for_each_token(p, o, [&](const Token& token) {
    for_each_head<Data, Table>(p, o, token, [&](const Head<Data, Table>& head) {
      if (head.cos == nullptr || head.sin == nullptr) __builtin_unreachable();
      rotate_head(head, p.rotary_dim / 2, scale, sign);
    });
  });
}

}  // namespace ropewalk
