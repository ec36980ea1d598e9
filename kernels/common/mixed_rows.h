// Tables and positions with axes: rows mixed pair by pair in the workspace, of which a kernel takes
// the problem without axes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/common/fused_nodes.h"

namespace ropewalk {

/// A row of cos and one of sin for each tensor, of the widest type that a table may have.
inline std::size_t mixed_rows_bytes(const rope_problem* p) {
  if (axes_of(*p) == nullptr) return 0;
  return 2 * p->tensor_count * static_cast<std::size_t>(p->rotary_dim / 2) * sizeof(double);
}

/// Where the rows of one token lie in a table of type `Entry`: that of each axis. `rows` are their
/// numbers.
template <class Entry>
inline void rows_of_axes(const rope_problem& p, const rope_axes& axes, const std::int64_t* rows,
                         const void* table, const Entry* (&from)[4]) {
  for (std::int32_t a = 0; a < axes.axes; ++a)
    from[a] = static_cast<const Entry*>(table) + a * axes.table_axis_stride +
              (p.table_rows > 1 ? rows[a] * p.table_row_stride : 0);
}
/// Mixes them for one tensor.
template <class Entry>
inline void mix_row(const rope_problem& p, const rope_axes& axes, const std::int64_t* rows,
                    const void* table, Entry* to) {
  const Entry* from[4] = {};
  rows_of_axes(p, axes, rows, table, from);
  for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) to[i] = from[axes.axis_of_pair[i]][i];
}

/// Calls rotate(problem, operands) for each token, with one token, one row of the table, and no
/// axes. A norm and an append stay.
template <class Rotate>
void rotate_by_mixed_rows(const rope_problem& p, const rope_operands& o, const rope_axes& axes,
                          Rotate&& rotate) {
  rope_problem one = p;
  one.batch = one.tokens = one.table_rows = 1;
  one.table_rows_by = ROPE_ROW_BY_TOKEN;
  rope_operands at = o;
  at.positions = nullptr;
  FusedNodes nodes(p, o);
  nodes.link(one, at);
  for_each_token(p, o, [&](const Token& token) {
    const TokenOnAxes on = on_axes(p, o, axes, token);
    const std::int64_t rows[] = {on.on[0].table_row, on.on[1].table_row, on.on[2].table_row,
                                 on.on[3].table_row};
    with_floating_type(Dtype{p.table_dtype}, [&]<class Entry>(std::type_identity<Entry>) {
      auto* mixed = static_cast<Entry*>(o.workspace);
      for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
        const rope_tensor& t = p.tensor[i];
        const auto element = [&](std::int64_t batch_stride, std::int64_t token_stride) {
          return ((p.batch > 1 ? token.batch * batch_stride : 0) +
                  (p.tokens > 1 ? token.index * token_stride : 0)) *
                 data_type(Dtype{t.in_dtype}).bytes;
        };
        at.tensor[i].in = static_cast<const std::byte*>(o.tensor[i].in) +
                          element(t.in_batch_stride, t.in_token_stride);
        if (o.tensor[i].out != nullptr)
          at.tensor[i].out = static_cast<std::byte*>(o.tensor[i].out) +
                             element(t.out_batch_stride, t.out_token_stride);
        if (t.rotate == 0) continue;
        mix_row(p, axes, rows, o.tensor[i].cos, mixed);
        at.tensor[i].cos = std::exchange(mixed, mixed + p.rotary_dim / 2);
        mix_row(p, axes, rows, o.tensor[i].sin, mixed);
        at.tensor[i].sin = std::exchange(mixed, mixed + p.rotary_dim / 2);
      }
    });
    nodes.begin_at(token.batch * p.tokens + token.index, o);
    rotate(one, at);
  });
}

}  // namespace ropewalk
