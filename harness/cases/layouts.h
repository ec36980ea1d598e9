// Memory layouts for cases: strides of [batch, tokens, heads] over rows of head_dim, in elements.
#pragma once
#include <algorithm>
#include <vector>

#include "harness/cases/case.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// Token-major, with `gap` unowned elements after every head, token and batch row.
inline Strides padded_strides(const Case& c, const TensorCase& t, std::int64_t gap) {
  Strides s;
  s.head = t.head_dim + gap;
  s.token = t.heads * s.head + gap;
  s.batch = c.tokens * s.token + gap;
  return s;
}

/// [batch, heads, tokens, head_dim], the layout of attention kernels. `room` more tokens fit in
/// each head, as in a cache of keys.
inline Strides head_major_strides(const Case& c, const TensorCase& t, std::int64_t room = 0) {
  Strides s;
  s.token = t.head_dim;
  s.head = (c.tokens + room) * t.head_dim;
  s.batch = t.heads * s.head;
  return s;
}

/// [tokens, batch, heads, head_dim], the layout of sequence-parallel training. `gap` elements
/// follow each batch row.
inline Strides time_major_strides(const Case& c, const TensorCase& t, std::int64_t gap) {
  Strides s;
  s.head = t.head_dim;
  s.batch = t.heads * t.head_dim + gap;
  s.token = c.batch * s.batch;
  return s;
}

/// Lays all tensors side by side in every token of one buffer. A fused QKV projection leaves this
/// layout.
inline void fuse(Case& c) {
  c.fused = true;
  const std::int64_t row = elements_of_token(c.tensors);
  std::int64_t at = 0;
  for (TensorCase& t : c.tensors) {
    t.in = t.out = Strides{c.tokens * row, row, t.head_dim};
    t.in_at = t.out_at = at;
    at += t.heads * t.head_dim;
  }
}

/// Packs every tensor into a buffer of its own, and packs tables and positions.
inline void lay_plainly(Case& c) {
  c.fused = c.one_buffer = c.one_cache = false;
  c.position_batch_stride = c.position_token_stride = contiguous;
  c.table_row_stride = contiguous;
  c.position_axis_stride = c.table_axis_stride = contiguous;
  for (TensorCase& t : c.tensors) {
    t.in = t.out = {};
    t.in_at = t.out_at = t.cache_at = 0;
    t.cache = {};
  }
}

/// Fuses the inputs in one buffer, and packs the outputs one behind the other.
inline void part_outputs(Case& c) {
  std::int64_t at = 0;
  for (TensorCase& t : c.tensors) {
    t.out = {};
    t.out_at = at;
    at += c.batch * c.tokens * t.heads * t.head_dim;
  }
}

/// Packs inputs and outputs one behind the other in one buffer, in this order: 2 i is the input of
/// tensor i, 2 i + 1 its output. Each begins at a multiple of `step` elements.
inline void place_in_order(Case& c, const std::vector<std::size_t>& order, std::int64_t step) {
  c.fused = c.one_buffer = true;
  std::int64_t at = 0;
  for (const std::size_t each : order) {
    TensorCase& t = c.tensors[each / 2];
    t.in_place = false;
    t.in = t.out = {};
    (each % 2 == 0 ? t.in_at : t.out_at) = at;
    at += (c.batch * c.tokens * t.heads * t.head_dim + step - 1) / step * step;
  }
}

/// Puts the output of every token behind its input, with all tensors in one buffer.
inline void alternate_tokens(Case& c) {
  fuse(c);
  c.one_buffer = true;
  for (TensorCase& t : c.tensors) {
    t.in_place = false;
    t.in.batch *= 2;
    t.in.token *= 2;
    t.out = t.in;
    t.in_at *= 2;
    t.out_at = t.in_at + t.heads * t.head_dim;
  }
}

/// Puts the output of every head behind its input. Each tensor has a buffer of its own.
inline void alternate_heads(Case& c) {
  c.one_buffer = true;
  for (TensorCase& t : c.tensors) {
    t.in_place = false;
    const std::int64_t token = 2 * t.heads * t.head_dim;
    t.in = t.out = {c.tokens * token, token, 2 * t.head_dim};
    t.out_at = t.head_dim;
  }
}

/// Makes Q and K read the same input. Their outputs lie side by side in every token of one buffer.
inline void share_input(Case& c) {
  c.tensors.resize(2, c.tensors[0]);
  for (TensorCase& t : c.tensors) t.in_place = false;
  fuse(c);
  for (TensorCase& t : c.tensors) {
    t.in = {};
    t.in_at = 0;
  }
}

/// Makes all inputs along one axis share memory (stride 0). Each output row lies out of place, in
/// memory of its own.
inline void broadcast_input(Case& c, std::int64_t Strides::*axis) {
  for (TensorCase& t : c.tensors) {
    t.in_place = false;
    t.in = {c.tokens * t.heads * t.head_dim, t.heads * t.head_dim, t.head_dim};
    t.in.*axis = 0;
  }
}

/// Gives an absurd stride to each axis of size 1. Such a stride is never used, so this catches a
/// kernel that uses it.
inline void scramble_unused_strides(const Case& c, const TensorCase& t, Strides& s) {
  constexpr std::int64_t absurd = 1'000'003;
  if (c.batch == 1) s.batch = absurd;
  if (c.tokens == 1) s.token = absurd;
  if (t.heads == 1) s.head = absurd;
}

/// What a kernel needs of a case. It refuses cases that are packed in one of these respects, or
/// whose tokens or heads are no multiple of a step.
struct Form {
  bool head_major = false, fused = false, strided_positions = false, padded_table = false;
  std::int64_t token_step = 1, head_step = 1;
  bool operator==(const Form&) const = default;
  bool has_layout() const { return head_major || fused || strided_positions || padded_table; }
};

/// The form that a case has: its layout.
inline Form form_of(const Case& c) {
  return {.head_major = c.tensors[0].in == head_major_strides(c, c.tensors[0]),
          .fused = c.fused,
          .strided_positions = c.position_token_stride > 1,
          .padded_table = c.table_row_stride > c.rotary_dim / 2};
}

/// Rounds tokens and heads up to their steps. Positions that count from one number on keep their
/// last, so that they stay in range. A case with a layout, positions or values of its own stays as
/// it is.
inline void round_sizes(Case& c, const Form& form) {
  Case packed = c;
  lay_plainly(packed);
  const bool has_values = std::any_of(c.tensors.begin(), c.tensors.end(),
                                      [](const TensorCase& t) { return !t.values.empty(); });
  if (packed != c || c.position_rule == PositionRule::list || has_values) return;
  const auto round = [](std::int64_t& size, std::int64_t step) {
    size = (size + step - 1) / step * step;
  };
  const std::int64_t tokens = c.tokens;
  round(c.tokens, form.token_step);
  const std::int64_t last = c.position_from + c.position_step * (c.tokens - 1);
  if (c.position_rule == PositionRule::consecutive &&
      (last >= position_limit || last < -position_limit))
    c.position_from -= c.position_step * (c.tokens - tokens);
  for (TensorCase& t : c.tensors) round(t.heads, form.head_step);
}

/// The case in this form, and packed otherwise, with its later calls. A plain form changes nothing.
inline Case in_form(Case c, const Form& form) {
  if (form == Form{}) return c;
  for (Case& call : c.calls) call = in_form(call, form);
  if (form.has_layout()) lay_plainly(c);
  round_sizes(c, form);
  if (!form.has_layout()) return c;
  if (form.fused) {
    const bool in_place = c.tensors[0].in_place;
    if (c.tensors.size() == 1) c.tensors.push_back(c.tensors[0]);
    for (TensorCase& t : c.tensors) t.in_place = in_place;
    fuse(c);
  }
  if (form.head_major)
    for (TensorCase& t : c.tensors) t.in = t.out = head_major_strides(c, t);
  if (form.strided_positions) {
    c.position_token_stride = 2;
    c.position_batch_stride = 2 * c.tokens + 1;
  }
  if (form.padded_table && c.contract == ROPE_CONTRACT_TABLE)
    c.table_row_stride = c.rotary_dim / 2 + 4;
  return c;
}

}  // namespace ropewalk::harness
