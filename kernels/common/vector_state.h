// What the vector kernels keep from prepare to release.
#pragma once
#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/common/mixed_rows.h"
#include "kernels/common/reach.h"

namespace ropewalk {

/// The turn fractions of all pairs as two halves of 32 bits. Rows of pairs are filled up with zeros
/// to a multiple of 16, so a vector reads no less.
struct HalvedFractions {
  std::vector<std::uint32_t> high, low;
};

/// What of a tensor's heads depends on the problem alone. Strides in bytes.
struct HeadsLayout {
  std::int64_t heads, in_stride, out_stride;
};

/// The heads of a tensor at one token, and where its rows of cos and sin begin. Which row it is, in
/// bytes from there, is given beside.
struct Heads {
  const HeadsLayout* layout;
  const std::byte* in;
  std::byte* out;
  const std::byte *cos, *sin;
};

/// The rotated tensors of a token. `in` and `out` begin at the window.
struct OneToken {
  std::int64_t half;
  double scale, signed_scale;
  std::uint32_t tensor_count;
  Heads tensor[ROPE_MAX_TENSORS];
};

/// How a tensor that rope_norm marks is normalized, and what of a head is rotated.
struct NormedHeads {
  double epsilon;
  std::int64_t group;            ///< heads whose factors are made at once, if a vector has more
  std::int64_t head_dim, begin;  ///< elements
  bool rotate;
  const void* weight;
};

struct VectorState;

/// What the file of a width has for a type of data, a pairing and a window.
struct VectorCode {
  /// Turns the pairs from i to `end`, or all; a walk asks for all.
  void (*turn)(const OneToken&, std::int64_t row, std::int64_t i, std::int64_t end);
  /// Normalizes the heads of a tensor, from their first dim, and turns them.
  void (*turn_normed)(const OneToken&, std::int64_t row, const Heads&, const NormedHeads&);
  /// The same where all dims of the heads are rotated.
  void (*turn_normed_window)(const OneToken&, std::int64_t row, const Heads&, const NormedHeads&);
  /// Writes the weights of a tensor as these two read them.
  void (*widen)(const rope_norm&, const void* weight, void* to, std::int64_t count);
  /// Copies the dims outside of the window [begin, end) of `head` bytes, but in place.
  void (*copy_around)(const Heads&, std::int64_t begin, std::int64_t end, std::int64_t head);
  /// Makes the rows of a token in the workspace; NULL: they are those of the table.
  void (*make_rows)(const VectorState&, const rope_operands&, std::int64_t b, std::int64_t t);
};

/// What depends on the problem alone. `p` is the problem, with strides of 0 for positions of axes
/// of size 1.
struct VectorState {
  struct Tensor {  ///< in bytes; in a cache, pages are batch rows, and their slots are tokens
    HeadsLayout layout;
    std::int64_t in_batch, in_token, out_batch, out_token;
    std::int64_t begin, end, head;  ///< of the window, and of a head
    bool is_normed, is_cached;
    bool has_rest() const { return end - begin != head; }  ///< of dims that are not rotated
  };
  rope_problem p;
  rope_axes axes;      ///< 0 axes: none
  rope_norm norm;      ///< no tensors: none
  rope_append append;  ///< the same
  Tensor tensor[ROPE_MAX_TENSORS];
  std::uint32_t order[ROPE_MAX_TENSORS];  ///< first the tensors that are rotated, ...
  std::uint32_t rotated;                  ///< so many
  bool has_rest;                          ///< some dims are copied
  bool reads_weights;                     ///< as they are given
  double scale, signed_scale;
  std::int64_t row_stride;  ///< bytes; 0 if rows are made
  std::size_t rows_bytes;   ///< of the rows in the workspace
  Reach reach;
  std::int64_t group;  ///< of NormedHeads
  VectorCode (*choose)(const VectorState&, bool past);
  VectorCode code, code_past;       ///< for stores past the caches
  HalvedFractions fractions;        ///< none if angles come from a table
  std::vector<std::uint32_t> axis;  ///< of each pair, filled up as the fractions are; or none

  void set_reach(Reach value) {
    reach = value;
    code = choose(*this, false);
    code_past = choose(*this, true);
  }
};
using ChooseCode = decltype(VectorState::choose);

inline std::int64_t padded_pairs(const rope_problem& p) {
  constexpr std::int64_t widest = 16;
  return (p.rotary_dim / 2 + widest - 1) / widest * widest;
}

/// A row of cos, or of sin, that is made in the workspace.
inline std::int64_t made_row_bytes(const rope_problem& p) {
  if (p.angle_source == ROPE_ANGLES_INV_FREQ)
    return padded_pairs(p) * static_cast<std::int64_t>(sizeof(float));
  return p.rotary_dim / 2 * data_type(Dtype{p.table_dtype}).bytes;
}
/// The workspace: rows of cos and sin, of this size, ...
inline std::size_t rows_bytes(const rope_problem& p) {
  if (p.angle_source == ROPE_ANGLES_TABLE) return mixed_rows_bytes(&p);
  return 2 * static_cast<std::size_t>(padded_pairs(p)) * sizeof(float);
}
/// ... and behind them the weights of the tensors that are marked for a norm.
inline std::size_t vector_workspace_bytes(const rope_problem* p) {
  std::int64_t weights = 0;
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    if (marks(norm_of(*p), i)) weights += p->tensor[i].head_dim;
  const DataType& data = data_type(Dtype{p->tensor[0].in_dtype});
  return rows_bytes(*p) + static_cast<std::size_t>(weights * data_type(data.computed_in).bytes);
}

inline VectorState::Tensor layout_of(const rope_problem& p, const rope_norm& norm,
                                     const rope_append& append, std::uint32_t i) {
  const rope_tensor& t = p.tensor[i];
  const std::int64_t bytes = data_type(Dtype{t.in_dtype}).bytes;
  const auto stride = [&](std::int64_t size, std::int64_t elements) {
    return size > 1 ? elements * bytes : 0;
  };
  VectorState::Tensor at{};
  at.layout = {t.heads, stride(t.heads, t.in_head_stride), stride(t.heads, t.out_head_stride)};
  at.in_batch = stride(p.batch, t.in_batch_stride);
  at.in_token = stride(p.tokens, t.in_token_stride);
  at.out_batch = stride(p.batch, t.out_batch_stride);
  at.out_token = stride(p.tokens, t.out_token_stride);
  at.begin = t.rotate != 0 ? t.rotary_offset * bytes : 0;
  at.end = t.rotate != 0 ? at.begin + p.rotary_dim * bytes : 0;
  at.head = t.head_dim * bytes;
  at.is_normed = marks(&norm, i);
  at.is_cached = marks(&append, i);
  if (at.is_cached) {
    at.layout.out_stride = stride(t.heads, append.head_stride[i]);
    at.out_batch = stride(append.pages, append.page_stride[i]);
    at.out_token = stride(append.page_size, append.slot_stride[i]);
  }
  return at;
}

inline void set_fractions(const rope_problem& p, HalvedFractions& to) {
  to.high.resize(static_cast<std::size_t>(padded_pairs(p)));
  to.low.resize(to.high.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.rotary_dim / 2); ++i) {
    const TurnFraction fraction = turn_fraction(p.inv_freq[i]);
    to.high[i] = static_cast<std::uint32_t>(fraction >> 32);
    to.low[i] = static_cast<std::uint32_t>(fraction);
  }
}

/// What `prepare` makes of a problem.
inline VectorState vector_state(const rope_problem& asked, ChooseCode choose) {
  VectorState s{};
  s.choose = choose;
  rope_problem& p = s.p = asked;
  if (const rope_axes* axes = axes_of(p)) s.axes = *axes;
  if (const rope_norm* norm = norm_of(p)) s.norm = *norm;
  if (const rope_append* append = append_of(p)) s.append = *append;
  std::uint32_t first = 0, last = p.tensor_count;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const VectorState::Tensor& at = s.tensor[i] = layout_of(p, s.norm, s.append, i);
    s.order[p.tensor[i].rotate != 0 ? first++ : --last] = i;
    s.has_rest = s.has_rest || (p.tensor[i].in_place == 0 && at.has_rest());
  }
  s.rotated = first;
  const std::int32_t data = p.tensor[0].in_dtype;
  const std::int32_t real = in_contract(data_type(Dtype{data}).computed_in);
  s.reads_weights =
      s.norm.weight_plus_one == 0 && (s.norm.weight_dtype == data || s.norm.weight_dtype == real);
  s.rows_bytes = rows_bytes(p);
  p.next = nullptr;
  if (p.batch == 1) p.position_batch_stride = 0;
  if (p.tokens == 1) p.position_token_stride = 0;
  if (p.angle_source == ROPE_ANGLES_INV_FREQ) set_fractions(p, s.fractions);
  if (s.axes.axes != 0) {
    s.axis.resize(static_cast<std::size_t>(padded_pairs(p)));
    std::copy_n(s.axes.axis_of_pair, p.rotary_dim / 2, s.axis.begin());
  } else if (p.angle_source == ROPE_ANGLES_TABLE && p.table_rows > 1) {
    s.row_stride = p.table_row_stride * data_type(Dtype{p.table_dtype}).bytes;
  }
  s.scale = scale_of(p);
  s.signed_scale = static_cast<double>(sign_of(p)) * s.scale;
  s.group = is_beyond_second_level(asked) && data_type(Dtype{data}).bytes > 2 ? 4 : 16;
  s.set_reach(reach_of(asked));
  return s;
}

template <ChooseCode choose>
std::int32_t prepare_vectors(const rope_problem* p, void** state) {
  try {
    *state = new VectorState(vector_state(*p, choose));
    return ROPE_OK;
  } catch (const std::bad_alloc&) {
    return ROPE_FAILED;
  }
}

}  // namespace ropewalk
