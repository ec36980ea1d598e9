// The walk of a vector kernel through the tokens of a call. It knows bytes and strides alone, so
// all widths, types and pairings share it. What depends on them is in the VectorCode of the state.
#pragma once
#include <xmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/vector_state.h"

namespace ropewalk {

/// What the row of a token is chosen by: a row of the table, or a position, whose plane begins at
/// `plane`.
inline std::int64_t row_at(const VectorState& s, const rope_operands& o, std::int64_t b,
                           std::int64_t t, std::int64_t plane = 0) {
  if (s.p.angle_source == ROPE_ANGLES_TABLE && s.p.table_rows_by == ROPE_ROW_BY_TOKEN)
    return b * s.p.tokens + t;
  const std::int64_t at = plane + b * s.p.position_batch_stride + t * s.p.position_token_stride;
  return s.p.position_dtype == ROPE_I64 ? static_cast<const std::int64_t*>(o.positions)[at]
                                        : static_cast<const std::int32_t*>(o.positions)[at];
}
/// The same on each axis.
inline void rows_on_axes(const VectorState& s, const rope_operands& o, std::int64_t b,
                         std::int64_t t, std::int64_t (&rows)[4]) {
  for (std::int32_t a = 0; a < s.axes.axes; ++a)
    rows[a] = row_at(s, o, b, t, a * s.axes.position_axis_stride);
}

/// The first rotated tensor with the tables of tensor i.
inline std::uint32_t first_with_table_of(const VectorState& s, const rope_operands& o,
                                         std::uint32_t i) {
  std::uint32_t first = 0;
  while (first < i && (s.p.tensor[first].rotate == 0 || o.tensor[first].cos != o.tensor[i].cos ||
                       o.tensor[first].sin != o.tensor[i].sin))
    ++first;
  return first;
}
/// Where the row of cos of tensor i stands in the workspace. That of sin follows. Rows of own
/// angles serve all tensors.
inline std::byte* made_row(const VectorState& s, const rope_operands& o, std::uint32_t i) {
  auto* const rows = static_cast<std::byte*>(o.workspace);
  if (s.p.angle_source != ROPE_ANGLES_TABLE) return rows;
  return rows + 2 * made_row_bytes(s.p) * first_with_table_of(s, o, i);
}

/// Whether a tensor is stored past the caches: in whole lines, and out of place. `out` is where its
/// heads begin, or their window.
inline bool is_past(const VectorState& s, std::uint32_t i, const std::byte* out) {
  if (s.reach != Reach::past || s.p.tensor[i].in_place != 0) return false;
  const VectorState::Tensor& at = s.tensor[i];
  const std::int64_t bits = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out)) |
                            s.p.rotary_dim / 2 * data_type(Dtype{s.p.tensor[i].in_dtype}).bytes |
                            at.out_batch | at.out_token | at.layout.out_stride | at.head | at.begin;
  return bits % 64 == 0;
}

/// Copies what a call without a norm does not turn.
[[gnu::noinline]] inline void copy_rest(const VectorCode& code, const VectorState& s,
                                        const OneToken& at) {
  for (std::uint32_t n = 0; n < s.p.tensor_count; ++n) {
    const VectorState::Tensor& shape = s.tensor[s.order[n]];
    Heads heads = at.tensor[n];
    heads.in -= shape.begin;
    heads.out -= shape.begin;
    if (shape.has_rest()) code.copy_around(heads, shape.begin, shape.end, shape.head);
  }
}

/// Where the row of a token begins, in bytes. Makes it, if that is asked for.
[[gnu::always_inline]] inline std::int64_t row_of(const VectorState& s, const rope_operands& o,
                                                  std::int64_t b, std::int64_t t) {
  if (s.code.make_rows != nullptr) s.code.make_rows(s, o, b, t);
  return s.row_stride == 0 ? 0 : s.row_stride * row_at(s, o, b, t);
}

[[gnu::always_inline]] inline OneToken no_tensors(const VectorState& s) {
  OneToken at;
  at.half = s.p.rotary_dim / 2;
  at.scale = s.scale;
  at.signed_scale = s.signed_scale;
  return at;
}
/// Tensor i at the first token, from its first dim, with the first row of its table.
[[gnu::always_inline]] inline Heads first_heads(const VectorState& s, const rope_operands& o,
                                                std::uint32_t i) {
  return {&s.tensor[i].layout, static_cast<const std::byte*>(o.tensor[i].in),
          static_cast<std::byte*>(o.tensor[i].out), static_cast<const std::byte*>(o.tensor[i].cos),
          static_cast<const std::byte*>(o.tensor[i].sin)};
}
/// The same with the rows in the workspace, for heads in this order, or in that of the tensors.
[[gnu::noinline]] inline void use_made_rows(const VectorState& s, const rope_operands& o,
                                            Heads* heads, const std::uint32_t* order = nullptr) {
  for (std::uint32_t n = 0; n < s.p.tensor_count; ++n) {
    heads[n].cos = made_row(s, o, order != nullptr ? order[n] : n);
    heads[n].sin = heads[n].cos + made_row_bytes(s.p);
  }
}

/// A call without a norm and an append. Where it has one token, much of its time is spent here.
inline void walk_plain(const VectorState& s, const rope_operands& o) {
  OneToken at = no_tensors(s);
  at.tensor_count = s.rotated;
  for (std::uint32_t n = 0; n < s.p.tensor_count; ++n) {
    at.tensor[n] = first_heads(s, o, s.order[n]);
    at.tensor[n].in += s.tensor[s.order[n]].begin;
    at.tensor[n].out += s.tensor[s.order[n]].begin;
  }
  if (s.code.make_rows != nullptr) use_made_rows(s, o, at.tensor, s.order);
  bool past = s.reach == Reach::past;
  for (std::uint32_t n = 0; past && n < s.p.tensor_count; ++n)
    past = is_past(s, s.order[n], at.tensor[n].out);
  const VectorCode& code = past ? s.code_past : s.code;
  for (std::int64_t b = 0, t = 0;;) {
    const std::int64_t row = row_of(s, o, b, t);
    if (s.has_rest) copy_rest(code, s, at);
    code.turn(at, row, 0, at.half);
    const bool is_last = ++t == s.p.tokens;
    if (is_last && b + 1 == s.p.batch) break;
    for (std::uint32_t n = 0; n < s.p.tensor_count; ++n) {
      const VectorState::Tensor& step = s.tensor[s.order[n]];
      at.tensor[n].in += is_last ? step.in_batch - (t - 1) * step.in_token : step.in_token;
      at.tensor[n].out += is_last ? step.out_batch - (t - 1) * step.out_token : step.out_token;
    }
    if (is_last) t = 0, ++b;
  }
  if (past) _mm_sfence();
}

/// A call with a norm or an append. Some tensors may be stored past the caches, and others not.
inline void walk_fused(const VectorState& s, const rope_operands& o) {
  Heads first[ROPE_MAX_TENSORS];
  OneToken near = no_tensors(s), far = no_tensors(s);
  bool past[ROPE_MAX_TENSORS];
  NormedHeads norm[ROPE_MAX_TENSORS];
  auto* weight = static_cast<std::byte*>(o.workspace) + s.rows_bytes;
  for (std::uint32_t i = 0; i < s.p.tensor_count; ++i) {
    const rope_tensor& t = s.p.tensor[i];
    first[i] = first_heads(s, o, i);
    if (s.tensor[i].is_cached) first[i].out = static_cast<std::byte*>(append_of(o)->cache[i]);
    past[i] = is_past(s, i, first[i].out);
    if (!s.tensor[i].is_normed) continue;
    const void* given = norm_of(o)->weight[i];
    norm[i] = {s.norm.epsilon, s.group, t.head_dim, t.rotate != 0 ? t.rotary_offset : 0,
               t.rotate != 0,  given};
    if (s.reads_weights && given != nullptr) continue;
    s.code.widen(s.norm, given, weight, t.head_dim);
    norm[i].weight = weight;
    weight += t.head_dim * data_type(data_type(Dtype{t.in_dtype}).computed_in).bytes;
  }
  const rope_append_operands* const appended = append_of(o);
  if (s.code.make_rows != nullptr) use_made_rows(s, o, first);
  for (std::int64_t b = 0; b < s.p.batch; ++b)
    for (std::int64_t t = 0; t < s.p.tokens; ++t) {
      const std::int64_t row = row_of(s, o, b, t);
      std::int64_t slot = 0, page = 0;
      if (s.append.tensors != 0) {
        slot = slot_at(s.append, *appended, b * s.p.tokens + t);
        if (slot >= 0) page = slot / s.append.page_size, slot -= page * s.append.page_size;
      }
      near.tensor_count = far.tensor_count = 0;
      for (std::uint32_t i = 0; i < s.p.tensor_count; ++i) {
        const VectorState::Tensor& shape = s.tensor[i];
        if (shape.is_cached && slot < 0) continue;
        const VectorCode& code = past[i] ? s.code_past : s.code;
        OneToken& at = past[i] ? far : near;
        Heads& heads = at.tensor[at.tensor_count];
        heads = {&shape.layout, first[i].in + b * shape.in_batch + t * shape.in_token,
                 first[i].out + (shape.is_cached ? page : b) * shape.out_batch +
                     (shape.is_cached ? slot : t) * shape.out_token,
                 first[i].cos, first[i].sin};
        if (shape.is_normed) {
          (shape.has_rest() ? code.turn_normed : code.turn_normed_window)(at, row, heads, norm[i]);
          continue;
        }
        if (shape.has_rest()) code.copy_around(heads, shape.begin, shape.end, shape.head);
        if (s.p.tensor[i].rotate == 0) continue;
        heads.in += shape.begin;
        heads.out += shape.begin;
        ++at.tensor_count;
      }
      if (near.tensor_count != 0) s.code.turn(near, row, 0, near.half);
      if (far.tensor_count != 0) s.code_past.turn(far, row, 0, far.half);
    }
  if (s.reach == Reach::past) _mm_sfence();
}

}  // namespace ropewalk
