// kernel.h: a thin C++ view of rope_kernel.h, enough to write a kernel in a few lines:
//
//   static void rotate(const rope_problem& p, const ropewalk::Head<float>& head) { ... }
//   static const ropewalk::RegisteredKernel kernel{ropewalk::f32_table_kernel<rotate>("mine")};
//   ROPEWALK_PLUGIN();
//
// Header only and free of dependencies: a plugin includes it and links nothing.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "kernels/api/half.h"
#include "kernels/api/rope_kernel.h"
#include "kernels/api/types.h"

namespace ropewalk {

/// The kernels of this binary, in registration order. The list is hidden, so a plugin and the
/// command that loads it each keep a list of their own.
[[gnu::visibility("hidden")]] inline std::vector<const rope_kernel*>& registered_kernels() {
  static std::vector<const rope_kernel*> kernels;
  return kernels;
}

/// The description of a kernel, with the common answers filled in. Every field is one of
/// rope_kernel.
struct KernelInfo {
  const char* name = nullptr;
  const char* summary = nullptr;
  const char* source = nullptr;
  const char* cpu_features = nullptr;
  std::int32_t memory = ROPE_HOST;
  std::int32_t angle_contract = ROPE_CONTRACT_TABLE;
  std::uint32_t flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE;
  std::uint32_t extensions = 0;
  double error_bound = 0;
  decltype(rope_kernel::supports) supports = nullptr;
  decltype(rope_kernel::workspace_bytes) workspace_bytes = nullptr;
  decltype(rope_kernel::prepare) prepare = nullptr;
  decltype(rope_kernel::apply) apply = nullptr;
  decltype(rope_kernel::release) release = nullptr;
  std::uint32_t exceptions = 0;
  std::uint32_t reads_past = 0;
};

/// One line at namespace scope with this class registers a kernel.
class [[gnu::visibility("hidden")]] RegisteredKernel {
 public:
  explicit RegisteredKernel(const KernelInfo& k)
      : kernel_{sizeof(rope_kernel),
                ROPE_ABI_VERSION,
                k.name,
                k.summary,
                k.source,
                k.cpu_features,
                k.memory,
                k.angle_contract,
                k.flags,
                k.extensions,
                k.error_bound,
                k.supports,
                k.workspace_bytes,
                k.prepare,
                k.apply,
                k.release,
                k.exceptions,
                k.reads_past} {
    registered_kernels().push_back(&kernel_);
  }
  RegisteredKernel(const RegisteredKernel&) = delete;
  RegisteredKernel& operator=(const RegisteredKernel&) = delete;

 private:
  rope_kernel kernel_;
};

/// One line at file scope turns a shared library with registered kernels into a plugin. The
/// function is weak, so several files of a library may have the line. A file of the tree may have
/// it too, where nothing calls the function.
#define ROPEWALK_PLUGIN()                                                                        \
  extern "C" [[gnu::weak, gnu::visibility("default")]] const rope_kernel_list* rope_kernels_v1(  \
      void) {                                                                                    \
    static rope_kernel_list list;                                                                \
    list = {sizeof(rope_kernel_list), ROPE_ABI_VERSION, ::ropewalk::registered_kernels().size(), \
            ::ropewalk::registered_kernels().data()};                                            \
    return &list;                                                                                \
  }                                                                                              \
  static_assert(true, "a semicolon follows ROPEWALK_PLUGIN()")

/// The node of a kind in a chain; NULL: there is none.
inline const rope_ext* extension_of(const rope_ext* chain, std::uint32_t kind) {
  while (chain != nullptr && chain->kind != kind) chain = chain->next;
  return chain;
}
/// The axes of the positions; NULL: a token has one position.
inline const rope_axes* axes_of(const rope_problem& p) {
  return reinterpret_cast<const rope_axes*>(extension_of(p.next, ROPE_EXT_AXES));
}
/// The RMS norm before the rotation; NULL: there is none.
inline const rope_norm* norm_of(const rope_problem& p) {
  return reinterpret_cast<const rope_norm*>(extension_of(p.next, ROPE_EXT_NORM));
}
inline const rope_norm_operands* norm_of(const rope_operands& o) {
  return reinterpret_cast<const rope_norm_operands*>(extension_of(o.next, ROPE_EXT_NORM));
}
/// The paged cache that tensors are appended to; NULL: there is none.
inline const rope_append* append_of(const rope_problem& p) {
  return reinterpret_cast<const rope_append*>(extension_of(p.next, ROPE_EXT_APPEND));
}
inline const rope_append_operands* append_of(const rope_operands& o) {
  return reinterpret_cast<const rope_append_operands*>(extension_of(o.next, ROPE_EXT_APPEND));
}
/// True if the extension is there and marks this tensor.
template <class Extension>
bool marks(const Extension* extension, std::uint32_t tensor) {
  return extension != nullptr && (extension->tensors >> tensor & 1) != 0;
}
/// The slot of a token, counted over all batch rows; -1: the token is skipped.
inline std::int64_t slot_at(const rope_append& a, const rope_append_operands& o,
                            std::int64_t token) {
  return a.slot_dtype == ROPE_I64 ? static_cast<const std::int64_t*>(o.slot)[token]
                                  : static_cast<const std::int32_t*>(o.slot)[token];
}
/// Index in its tensor's cache of the first element of a slot.
inline std::int64_t cache_index(const rope_append& a, std::uint32_t tensor, std::int64_t slot) {
  return slot / a.page_size * a.page_stride[tensor] + slot % a.page_size * a.slot_stride[tensor];
}
constexpr std::uint32_t extension_bit(std::uint32_t kind) {
  return std::uint32_t{1} << kind;
}

/// The factor on rotated elements. The contract writes 1 as 0.
inline double scale_of(const rope_problem& p) {
  return p.attention_scale == 0 ? 1.0 : p.attention_scale;
}

/// The factor on sin: -1 for ROPE_TRANSPOSE, the backward pass, which turns in the opposite
/// direction.
inline float sign_of(const rope_problem& p) {
  return p.operation == ROPE_TRANSPOSE ? -1.0F : 1.0F;
}

/// One token of one batch row.
struct Token {
  std::int64_t batch, index;
  std::int64_t position;   ///< 0 if the call gives no positions (tables by token)
  std::int64_t table_row;  ///< has a meaning only with a table
};

/// The contract's enumerator of a C++ type: float, double, F16 or Bf16.
template <class Data>
inline constexpr std::int32_t dtype_of = in_contract(detail::dtype_of<Data>());

/// The type of the table for data of this type, and the type to compute in: f64 for f64, else f32.
template <class Data>
using TableOf = ElementOf<data_type(detail::dtype_of<Data>()).computed_in>;

/// The rotated window of one head: rotary_dim elements at `in` and `out`, which are equal in place.
/// `cos` and `sin` hold rotary_dim / 2 values of the token's row; both are NULL without a table.
/// Data is float, double, F16 or Bf16. Each converts to TableOf<Data> and is made from it by
/// Data(value). Table is another type only for a kernel whose `supports` accepts that table_dtype.
template <class Data, class Table = TableOf<Data>>
struct Head {
  const Data* in;
  Data* out;
  const Table* cos;
  const Table* sin;
};

/// Token t of batch row b. `plane`: where the positions of its axis begin (rope_axes).
inline Token token_at(const rope_problem& p, const rope_operands& o, std::int64_t b, std::int64_t t,
                      std::int64_t plane = 0) {
  std::int64_t position = 0;
  if (o.positions != nullptr) {
    // The stride of an axis of size 1 is never used.
    const std::int64_t at = plane + (p.batch > 1 ? b * p.position_batch_stride : 0) +
                            (p.tokens > 1 ? t * p.position_token_stride : 0);
    position = p.position_dtype == ROPE_I64 ? static_cast<const std::int64_t*>(o.positions)[at]
                                            : static_cast<const std::int32_t*>(o.positions)[at];
  }
  const bool by_token = p.table_rows_by == ROPE_ROW_BY_TOKEN;
  return {b, t, position, by_token ? b * p.tokens + t : position};
}

/// Calls visit(Token) for every token of every batch row.
template <class Visit>
void for_each_token(const rope_problem& p, const rope_operands& o, Visit&& visit) {
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t t = 0; t < p.tokens; ++t) visit(token_at(p, o, b, t));
}

/// A token on each axis of its positions.
struct TokenOnAxes {
  Token on[4];
};
inline TokenOnAxes on_axes(const rope_problem& p, const rope_operands& o, const rope_axes& axes,
                           const Token& token) {
  TokenOnAxes out{};
  for (std::int32_t a = 0; a < axes.axes; ++a)
    out.on[a] = token_at(p, o, token.batch, token.index, a * axes.position_axis_stride);
  return out;
}

/// A head of a tensor that rope_norm marks: w x / sqrt(mean(x^2) + epsilon), each of `count`
/// elements rounded once. `in` and `out` may be the same. Error as rope_norm says.
template <class Data>
void normalize_head(const rope_norm& norm, const void* weight, const Data* in, Data* out,
                    std::int64_t count) {
  using Wide = TableOf<Data>;
  Wide sums[8] = {};  // several, so that the loop becomes vector code
  const auto add = [&](std::int64_t d, std::int64_t to) { sums[to] += Wide{in[d]} * Wide{in[d]}; };
  for (std::int64_t d = 0; d + 8 <= count; d += 8)
    for (std::int64_t j = 0; j < 8; ++j) add(d + j, j);
  for (std::int64_t d = count / 8 * 8; d < count; ++d) add(d, d % 8);
  Wide sum = 0;
  for (const Wide each : sums) sum += each;
  const Wide mean = sum / static_cast<Wide>(count);
  const Wide factor = 1 / std::sqrt(mean + static_cast<Wide>(norm.epsilon));
  with_floating_type(Dtype{norm.weight_dtype}, [&]<class Stored>(std::type_identity<Stored>) {
    const auto* const w = static_cast<const Stored*>(weight);
    const Wide more = norm.weight_plus_one != 0 ? 1 : 0;
    if (w == nullptr)
      for (std::int64_t d = 0; d < count; ++d) out[d] = Data(Wide{in[d]} * factor);
    else
      for (std::int64_t d = 0; d < count; ++d)
        out[d] = Data(Wide{in[d]} * factor * (more + static_cast<Wide>(w[d])));
  });
}

/// Calls visit(Head) for every head of every rotated tensor of one token. Copies what is not
/// rotated, bit for bit: dims outside the window, and tensors with rotate = 0. All tensors have
/// elements of type Data. A tensor that rope_append marks gets the row of its slot for `out`; a
/// token without a slot is passed by. A head that rope_norm marks is normalized in its output, and
/// rotated there: for 16-bit data that is ROPE_ROUNDS_WEIGHTED.
template <class Data, class Table = TableOf<Data>, class Visit>
void for_each_head(const rope_problem& p, const rope_operands& o, const Token& token,
                   Visit&& visit) {
  const bool table = p.angle_source == ROPE_ANGLES_TABLE;
  const rope_norm* const norm = norm_of(p);
  const rope_append* const append = append_of(p);
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    const bool cached = marks(append, i);
    const std::int64_t slot =
        cached ? slot_at(*append, *append_of(o), token.batch * p.tokens + token.index) : 0;
    if (slot < 0) continue;
    const auto at = [&](std::int64_t h, std::int64_t batch_stride, std::int64_t token_stride,
                        std::int64_t head_stride) {
      return (p.batch > 1 ? token.batch * batch_stride : 0) +
             (p.tokens > 1 ? token.index * token_stride : 0) + (s.heads > 1 ? h * head_stride : 0);
    };
    const std::int64_t row = table && p.table_rows > 1 ? token.table_row * p.table_row_stride : 0;
    const std::int64_t begin = s.rotate != 0 ? s.rotary_offset : 0;
    const std::int64_t end = s.rotate != 0 ? begin + p.rotary_dim : 0;
    const auto copy = [](const Data* from, Data* to, std::int64_t count) {
      if (from != to && count > 0)
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Data));
    };
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const Data* in = static_cast<const Data*>(o.tensor[i].in) +
                       at(h, s.in_batch_stride, s.in_token_stride, s.in_head_stride);
      Data* out = cached ? static_cast<Data*>(append_of(o)->cache[i]) +
                               cache_index(*append, i, slot) + h * append->head_stride[i]
                         : static_cast<Data*>(o.tensor[i].out) +
                               at(h, s.out_batch_stride, s.out_token_stride, s.out_head_stride);
      if (marks(norm, i)) {
        normalize_head(*norm, norm_of(o)->weight[i], in, out, s.head_dim);
        in = out;
      }
      copy(in, out, begin);
      copy(in + end, out + end, s.head_dim - end);
      if (s.rotate != 0)
        visit(
            Head<Data, Table>{in + begin, out + begin,
                              table ? static_cast<const Table*>(o.tensor[i].cos) + row : nullptr,
                              table ? static_cast<const Table*>(o.tensor[i].sin) + row : nullptr});
    }
  }
}

/// The two elements of pair i in a window of 2 * half elements.
struct PairIndex {
  std::int64_t first, second;
};
inline PairIndex pair_index(std::int32_t pairing, std::int64_t i, std::int64_t half) {
  return pairing == ROPE_INTERLEAVED ? PairIndex{2 * i, 2 * i + 1} : PairIndex{i, i + half};
}
inline PairIndex pair_index(Pairing pairing, std::int64_t i, std::int64_t half) {
  return pair_index(in_contract(pairing), i, half);
}

/// Returns "no" for `supports`. `why` must be static text.
inline std::int32_t refuse(const char** reason, const char* why) {
  if (reason != nullptr) *reason = why;
  return ROPE_UNSUPPORTED;
}

/// Why a kernel refuses a problem, as static text; NULL if it does not. The functions below refuse
/// what a simple kernel often cannot do. `supports` joins them:
///   return refuse_if(reason, {only_packed(*p), p->tokens > 99 ? "at most 99 tokens" : nullptr});
using Refusal = const char*;
inline std::int32_t refuse_if(const char** reason, std::initializer_list<Refusal> refusals) {
  for (const Refusal why : refusals)
    if (why != nullptr) return refuse(reason, why);
  return ROPE_OK;
}
/// True if these strides of an axis are the size of what lies inside. Those of size 1 are not used.
template <class... Strides>
bool is_packed(std::int64_t size, std::int64_t inside, Strides... strides) {
  return size == 1 || ((strides == inside) && ...);
}
inline Refusal only_packed(const rope_problem& p) {
  bool all = true;
  for (const rope_tensor* t = p.tensor; t != p.tensor + p.tensor_count; ++t) {
    const std::int64_t dim = t->head_dim, token = t->heads * dim, row = p.tokens * token;
    all &= is_packed(t->heads, dim, t->in_head_stride, t->out_head_stride) &&
           is_packed(p.tokens, token, t->in_token_stride, t->out_token_stride) &&
           is_packed(p.batch, row, t->in_batch_stride, t->out_batch_stride);
  }
  return all ? nullptr : "only packed tensors";
}
inline Refusal only_packed_positions(const rope_problem& p) {
  const bool rows = is_packed(p.batch, p.tokens, p.position_batch_stride);
  const bool all = rows && is_packed(p.tokens, 1, p.position_token_stride);
  return all ? nullptr : "only packed positions";
}
/// All tensors are rotated, and no dim of a head is left as it is.
inline Refusal only_whole_heads(const rope_problem& p) {
  bool whole = true;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    whole &= p.tensor[i].rotate != 0 && p.tensor[i].head_dim == p.rotary_dim;
  return whole ? nullptr : "only heads that are rotated as a whole";
}
inline Refusal only_scale_1(const rope_problem& p) {
  return scale_of(p) != 1 ? "attention_scale must be 1" : nullptr;
}
inline Refusal only_forward(const rope_problem& p) {
  return p.operation != ROPE_FORWARD ? "only forward" : nullptr;
}
inline Refusal only_pairing(const rope_problem& p, std::int32_t pairing) {
  return p.pairing != pairing ? "only the other pairing" : nullptr;
}
inline Refusal only_rows_by_position(const rope_problem& p) {
  return p.table_rows_by != ROPE_ROW_BY_POSITION ? "only table rows by position" : nullptr;
}

/// Accepts a problem with these angles if all its tensors have data type `dtype`. A table must have
/// the type that belongs to it.
inline std::int32_t supports_data(const rope_problem& p, std::int32_t angle_source,
                                  std::int32_t dtype, const char** reason) {
  const bool table = angle_source == ROPE_ANGLES_TABLE;
  if (!is_floating(dtype)) return refuse(reason, "only floating-point data");
  if (p.angle_source != angle_source)
    return refuse(
        reason, table ? "needs a table of cos and sin" : "makes its own angles and takes no table");
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    if (p.tensor[i].in_dtype != dtype || p.tensor[i].out_dtype != dtype)
      return refuse(reason,
                    i == 0 ? "takes another data type" : "all tensors must have one data type");
  if (table && p.table_dtype != in_contract(data_type(Dtype{dtype}).computed_in))
    return refuse(reason, "the table must be f64 for f64 data, else f32");
  return ROPE_OK;
}

/// The same for f32 data, and also for f64 data if `f64_too`.
inline std::int32_t supports_float_data(const rope_problem& p, std::int32_t angle_source,
                                        bool f64_too, const char** reason) {
  const std::int32_t dtype = p.tensor[0].in_dtype;
  if (dtype == ROPE_F32 || (f64_too && dtype == ROPE_F64))
    return supports_data(p, angle_source, dtype, reason);
  return refuse(reason, f64_too ? "only f32 and f64 data" : "only f32 data");
}

/// A kernel for data of one type, complete but for its arithmetic. rotate(problem, head) turns one
/// head from head.in to head.out, which may be the same memory.
template <class Data, void (*rotate)(const rope_problem&, const Head<Data>&)>
KernelInfo table_kernel(const char* name) {
  KernelInfo k;
  k.name = name;
  k.supports = [](const rope_problem* p, const char** reason) {
    return supports_data(*p, ROPE_ANGLES_TABLE, dtype_of<Data>, reason);
  };
  k.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    for_each_token(*p, *o, [&](const Token& token) {
      for_each_head<Data>(*p, *o, token, [&](const Head<Data>& head) { rotate(*p, head); });
    });
    return ROPE_OK;
  };
  return k;
}

/// The same for f32.
template <void (*rotate)(const rope_problem&, const Head<float>&)>
KernelInfo f32_table_kernel(const char* name) {
  return table_kernel<float, rotate>(name);
}

/// A kernel whose heads come from for_each_head, which normalizes and appends them.
inline KernelInfo with_norm_and_append(KernelInfo k) {
  k.extensions |= extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
  return k;
}

}  // namespace ropewalk
