#include "harness/call/operands.h"

#include <algorithm>

namespace ropewalk::harness {

std::string operand_name(Operand role, std::uint32_t tensor) {
  constexpr std::string_view names[roles] = {"inv_freq", "axis_of_pair", "positions", "slots",
                                             "in",       "out",          "cos",       "sin",
                                             "weight",   "cache",        "workspace"};
  // Both may come from memory that a kernel can write.
  const std::string name(names[std::min(static_cast<std::size_t>(role), roles - 1)]);
  const std::size_t i = std::min<std::size_t>(tensor, ROPE_MAX_TENSORS - 1);
  return is_of_tensor(role) ? std::string(tensor_words[i]) + "." + name : name;
}

std::int64_t Extent::elements() const {
  std::int64_t sum = row;
  for (const Axis& axis : axes)
    sum = saturating_sum({sum, saturating_product({axis.count - 1, axis.stride})});
  return sum;
}

OperandNodes nodes_of(const rope_operands& o) {
  OperandNodes out;
  if (const auto* norm = norm_of(o)) out.norm = *norm;
  if (const auto* append = append_of(o)) out.append = *append;
  out.norm.ext.next = out.append.ext.next = nullptr;
  return out;
}

std::vector<OperandLayout> operands_of(const rope_problem& p, const ProblemNodes& nodes) {
  std::vector<OperandLayout> out;
  const auto add = [&](Operand role, std::uint32_t tensor, std::int32_t dtype,
                       const Extent& extent) {
    out.push_back({role, tensor, Dtype{dtype}, data_type(Dtype{dtype}).bytes, extent});
  };
  const auto for_each_tensor = [&](auto&& use) {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) use(i, p.tensor[i]);
  };
  const rope_axes& axes = nodes.axes;
  const rope_append& append = nodes.append;
  const std::int64_t half = p.rotary_dim / 2, axis_count = std::max(axes.axes, 1);

  add(Operand::inv_freq, 0, ROPE_F64, {half, {}});
  if (axes.axes > 0) out.push_back({Operand::axis_of_pair, 0, Dtype::i32, 1, {half, {}}});
  for_each_tensor([&](std::uint32_t i, const rope_tensor& t) {
    add(Operand::in, i, t.in_dtype,
        {t.head_dim,
         {{p.batch, t.in_batch_stride},
          {p.tokens, t.in_token_stride},
          {t.heads, t.in_head_stride}}});
    if (marks(&append, i))
      add(Operand::cache, i, t.out_dtype,
          {t.head_dim,
           {{append.pages, append.page_stride[i]},
            {append.page_size, append.slot_stride[i]},
            {t.heads, append.head_stride[i]}}});
    else
      add(Operand::out, i, t.out_dtype,
          {t.head_dim,
           {{p.batch, t.out_batch_stride},
            {p.tokens, t.out_token_stride},
            {t.heads, t.out_head_stride}}});
  });
  add(Operand::positions, 0, p.position_dtype,
      {1,
       {{axis_count, axes.position_axis_stride},
        {p.batch, p.position_batch_stride},
        {p.tokens, p.position_token_stride}}});
  for_each_tensor([&](std::uint32_t i, const rope_tensor& t) {
    if (marks(&nodes.norm, i)) add(Operand::weight, i, nodes.norm.weight_dtype, {t.head_dim, {}});
  });
  if (append.tensors != 0)
    add(Operand::slot, 0, append.slot_dtype, {saturating_product({p.batch, p.tokens}), {}});
  for_each_tensor([&](std::uint32_t i, const rope_tensor& t) {
    if (p.angle_source != ROPE_ANGLES_TABLE || t.rotate == 0) return;
    for (const Operand role : {Operand::cos, Operand::sin})
      add(role, i, p.table_dtype,
          {half,
           {{axis_count, axes.table_axis_stride}, {p.table_rows, p.table_row_stride}, {1, 0}}});
  });
  return out;
}

rope_operands operands_at(std::span<const Given> given, const ProblemNodes& nodes,
                          OperandNodes& chained) {
  rope_operands o{};
  o.struct_size = sizeof o;
  chained = {};
  if (nodes.norm.tensors != 0) chained.norm.ext = {ROPE_EXT_NORM, sizeof chained.norm, nullptr};
  if (nodes.append.tensors != 0)
    chained.append.ext = {ROPE_EXT_APPEND, sizeof chained.append, nullptr};
  for (const auto& [role, tensor, address] : given) {
    if (tensor >= ROPE_MAX_TENSORS) continue;
    auto& of_tensor = o.tensor[tensor];
    void* const at = const_cast<void*>(address);
    if (role == Operand::in) of_tensor.in = at;
    if (role == Operand::out) of_tensor.out = at;
    if (role == Operand::cos) of_tensor.cos = at;
    if (role == Operand::sin) of_tensor.sin = at;
    if (role == Operand::positions) o.positions = at;
    if (role == Operand::weight) chained.norm.weight[tensor] = at;
    if (role == Operand::slot) chained.append.slot = at;
    if (role == Operand::cache) chained.append.cache[tensor] = at;
    if (role == Operand::workspace) o.workspace = at;
  }
  o.next = chained.chain();
  return o;
}

void set_address(rope_problem& p, ProblemNodes& nodes, Operand role, const void* at) {
  if (role == Operand::inv_freq) p.inv_freq = static_cast<const double*>(at);
  if (role == Operand::axis_of_pair) nodes.axes.axis_of_pair = static_cast<const std::uint8_t*>(at);
}

}  // namespace ropewalk::harness
