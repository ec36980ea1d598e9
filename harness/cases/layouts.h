// Memory layouts that cases use, as strides of [batch, tokens, heads] over rows of head_dim.
#pragma once
#include "harness/cases/case.h"

namespace ropewalk::harness {

/// Token-major with `gap` elements that nobody owns after every head, token and batch row.
inline Strides padded_strides(const Case& c, const TensorCase& t, std::int64_t gap) {
  Strides s;
  s.head = t.head_dim + gap;
  s.token = t.heads * s.head + gap;
  s.batch = c.tokens * s.token + gap;
  return s;
}

/// [batch, heads, tokens, head_dim], as attention kernels want it; with `room` tokens more in each
/// head, as a cache of keys has them.
inline Strides head_major_strides(const Case& c, const TensorCase& t, std::int64_t room = 0) {
  Strides s;
  s.token = t.head_dim;
  s.head = (c.tokens + room) * t.head_dim;
  s.batch = t.heads * s.head;
  return s;
}

/// [tokens, batch, heads, head_dim], as sequence-parallel training has it, with `gap` elements
/// after each batch row.
inline Strides time_major_strides(const Case& c, const TensorCase& t, std::int64_t gap) {
  Strides s;
  s.head = t.head_dim;
  s.batch = t.heads * t.head_dim + gap;
  s.token = c.batch * s.batch;
  return s;
}

/// Lays all tensors side by side in every token of one buffer, as a fused QKV projection leaves
/// them.
inline void fuse(Case& c) {
  c.fused = true;
  std::int64_t row = 0;
  for (const TensorCase& t : c.tensors) row += t.heads * t.head_dim;
  std::int64_t at = 0;
  for (TensorCase& t : c.tensors) {
    t.in = t.out = Strides{c.tokens * row, row, t.head_dim};
    t.in_at = t.out_at = at;
    at += t.heads * t.head_dim;
  }
}

/// Every tensor packed, in a buffer of its own; tables and positions too.
inline void lay_plainly(Case& c) {
  c.fused = false;
  c.position_batch_stride = c.position_token_stride = contiguous;
  c.table_row_stride = contiguous;
  for (TensorCase& t : c.tensors) {
    t.in = t.out = {};
    t.in_at = t.out_at = 0;
  }
}

/// Fused inputs, and outputs that lie packed one behind the other.
inline void part_outputs(Case& c) {
  std::int64_t at = 0;
  for (TensorCase& t : c.tensors) {
    t.out = {};
    t.out_at = at;
    at += c.batch * c.tokens * t.heads * t.head_dim;
  }
}

/// Q and K read the same input, side by side in every token of one buffer out.
inline void share_input(Case& c) {
  c.tensors.resize(2, c.tensors[0]);
  for (TensorCase& t : c.tensors) t.in_place = false;
  fuse(c);
  for (TensorCase& t : c.tensors) {
    t.in = {};
    t.in_at = 0;
  }
}

/// All inputs along one axis are one, each out of place into rows of its own.
inline void broadcast_input(Case& c, std::int64_t Strides::*axis) {
  for (TensorCase& t : c.tensors) {
    t.in_place = false;
    t.in = {c.tokens * t.heads * t.head_dim, t.heads * t.head_dim, t.head_dim};
    t.in.*axis = 0;
  }
}

/// Strides of axes of size 1 are never used: an absurd value there catches a kernel that does.
inline void scramble_unused_strides(const Case& c, const TensorCase& t, Strides& s) {
  constexpr std::int64_t absurd = 1'000'003;
  if (c.batch == 1) s.batch = absurd;
  if (c.tokens == 1) s.token = absurd;
  if (t.heads == 1) s.head = absurd;
}

}  // namespace ropewalk::harness
