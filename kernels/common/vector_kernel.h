// What the vector kernels of all widths share: what they keep from prepare to release, the walk
// through the tokens, and what they say of themselves. The walk knows bytes and strides alone; what
// depends on widths, types and pairings is in the VectorCode of the state.
#pragma once
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "kernels/api/kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/common/mixed_rows.h"

namespace ropewalk {

/// What a call does beside loads and stores. It is chosen in `prepare`, from the sizes of the
/// problem and the second level of cache of this machine. Nothing is timed.
///
/// near: what the call reads and writes fits the first level of cache. cos and sin of some pairs
/// stay in registers, and a long window takes several walks over all heads.
/// far: more than that. A head is finished before the next, since each walk would fetch every line
/// of the token anew; cos and sin are then loaded for each head.
/// past: more than 8 MiB and than four times the second level of cache is written out of place.
/// What is out of place and in whole lines is then stored past the caches, which reads no line to
/// overwrite it; without a norm and an append, if that is all. The 16-bit forms of `avx2` in
/// half_split store half lines, and never do.
///
/// On a Xeon with 48 KiB and 2 MiB, 40 heads of 128 f32, ns a token. `avx2` in place, 20, 41, 82
/// and 328 KB: near 270, 580, 688, 589; far 340, 690, 688, 464. `avx512` out of place, three runs:
/// 8 MB written, far 1,961, 2,430, 2,636; past 2,384, 2,509, 2,635. 10 MB: 1,912, 2,730, 3,097;
/// 2,384, 2,566, 2,640. 21 MB: 3,130, 3,676, 3,696; 2,261, 2,379, 2,275. So near the threshold
/// either may lose. On a Zen 4 with 1 MiB, past took 744 for 538 at 5 MB.
enum class Reach { near, far, past };

/// Bytes that a call reads and does not write to the same place, and bytes that it writes.
struct Traffic {
  double read = 0, written = 0;
};
inline Traffic traffic_of(const rope_problem& p) {
  Traffic sum;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& t = p.tensor[i];
    const double bytes = static_cast<double>(p.batch) * static_cast<double>(p.tokens) *
                         static_cast<double>(t.heads) * static_cast<double>(t.head_dim) *
                         static_cast<double>(data_type(Dtype{t.out_dtype}).bytes);
    sum.written += bytes;
    if (t.in_place == 0) sum.read += bytes;
  }
  return sum;
}
inline double cache_bytes(int name, long usual) {
  const long told = sysconf(name);
  return static_cast<double>(told > 0 ? told : usual);
}
inline double second_level_bytes() {
  return cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
}

inline Reach reach_of(const rope_problem& p) {
  const auto [read, written] = traffic_of(p);
  if (read + written <= cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10)) return Reach::near;
  const double past = std::max(4 * second_level_bytes(), 0x1p23);
  return read > past ? Reach::past : Reach::far;
}

/// There a norm waits for memory, and fewer heads at once let reads and writes take turns. On a Zen
/// 5 with 1 MiB, 40 heads of 128 in place, ns a token, at 16, 8 and 4 heads at once: f32, 42 MB
/// 896, 850, 719; 20 KB 289, 328, 425; bf16, 21 MB 465, 485, 509.
inline bool is_beyond_second_level(const rope_problem& p) {
  const auto [read, written] = traffic_of(p);
  return read + written > second_level_bytes();
}

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

/// The scale is multiplied into cos and sin. Where a product could be subnormal, it would lose more
/// than the bound allows (bounds::underflow).
inline std::int32_t supports_vectors(const rope_problem& p, std::int32_t angles,
                                     const char** reason) {
  const std::int32_t dtype = p.tensor[0].in_dtype;
  if (!is_floating(dtype)) return refuse(reason, "only floating-point data");
  const Format& real = data_type(data_type(Dtype{dtype}).computed_in).format;
  if (std::abs(scale_of(p)) < real.normal / real.u)
    return refuse(reason, "no attention_scale that makes cos and sin subnormal");
  return supports_data(p, angles, dtype, reason);
}

/// A kernel of one vector width with a table. Its arithmetic promises equal bits on every path.
template <ChooseCode choose>
KernelInfo vector_table_kernel(const char* name, const char* summary, const char* cpu_features) {
  KernelInfo k;
  k.name = name;
  k.summary = summary;
  k.source = "this project";
  k.cpu_features = cpu_features;
  k.flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT;
  k.extensions =
      extension_bit(ROPE_EXT_AXES) | extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
  k.supports = [](const rope_problem* p, const char** reason) {
    return supports_vectors(*p, ROPE_ANGLES_TABLE, reason);
  };
  k.workspace_bytes = vector_workspace_bytes;
  k.prepare = prepare_vectors<choose>;
  k.apply = [](const rope_problem*, const rope_operands* o, void* state) -> std::int32_t {
    const auto& s = *static_cast<const VectorState*>(state);
    (s.norm.tensors | s.append.tensors) == 0 ? walk_plain(s, *o) : walk_fused(s, *o);
    return ROPE_OK;
  };
  k.release = [](void* state) { delete static_cast<VectorState*>(state); };
  return k;
}

/// The same with angles of its own, made in f32: a row of cos and one of sin in the workspace.
template <ChooseCode choose>
KernelInfo vector_phase_kernel(const char* name, const char* summary, const char* cpu_features) {
  KernelInfo k = vector_table_kernel<choose>(name, summary, cpu_features);
  k.angle_contract = ROPE_CONTRACT_EXACT;
  k.supports = [](const rope_problem* p, const char** reason) {
    const std::int32_t dtype = p->tensor[0].in_dtype;
    if (dtype == ROPE_F64) return refuse(reason, "only f32, f16 and bf16 data");
    return supports_vectors(*p, ROPE_ANGLES_INV_FREQ, reason);
  };
  return k;
}

}  // namespace ropewalk
