// Errors in the norm before the rotation (rope_norm) and in the append after it (rope_append), in a
// correct kernel of both. Without them, every mutant is correct.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A call that a mutant may change.
struct FusedCall {
  rope_problem p;
  rope_operands o;
  rope_norm norm{};
  rope_norm_operands weights{};
  rope_append append{};
  rope_append_operands caches{};

  FusedCall(const rope_problem& problem, const rope_operands& operands) : p(problem), o(operands) {
    if (const rope_norm* given = norm_of(p)) norm = *given, weights = *norm_of(o);
    if (const rope_append* given = append_of(p)) append = *given, caches = *append_of(o);
  }
  std::int64_t tokens() const { return p.batch * p.tokens; }
  std::int64_t slot(std::int64_t token) const { return slot_at(append, caches, token); }
};

// A head on its way from the input to where it is stored.
struct FusedHead {
  std::uint32_t tensor;
  std::int64_t b, t, h, window, count;  // the window begins here, and has rotary_dim elements or 0
  float* x;
};

struct RightFused {
  virtual ~RightFused() = default;
  virtual void see(FusedCall&) {}
  virtual std::int64_t slot(const FusedCall& c, std::int64_t token) { return c.slot(token); }
  virtual std::int64_t place(const FusedCall& c, std::uint32_t tensor, std::int64_t slot) {
    return cache_index(c.append, tensor, slot);
  }
  virtual std::int64_t input_row(const FusedCall&, std::uint32_t, std::int64_t b) { return b; }
  virtual bool rotates(const FusedCall& c, std::uint32_t i) { return c.p.tensor[i].rotate != 0; }
  virtual double sum(const FusedCall&, const FusedHead& head) {
    double sum = 0;
    for (std::int64_t d = 0; d < head.count; ++d) sum += double{head.x[d]} * head.x[d];
    return sum;
  }
  virtual double factor(const FusedCall& c, const FusedHead& head) {
    return 1 / std::sqrt(sum(c, head) / static_cast<double>(head.count) + c.norm.epsilon);
  }
  virtual double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) {
    const void* const weights = c.weights.weight[head.tensor];
    if (weights == nullptr) return 1;
    return with_floating_type(Dtype{c.norm.weight_dtype}, [&]<class W>(std::type_identity<W>) {
      return double{TableOf<W>{static_cast<const W*>(weights)[d]}} +
             (c.norm.weight_plus_one != 0 ? 1 : 0);
    });
  }
  virtual double before_weight(double value) { return value; }
  virtual double after_weight(double value) { return value; }
  virtual void normalize(const FusedCall& c, const FusedHead& head) {
    const double by = factor(c, head);
    for (std::int64_t d = 0; d < head.count; ++d)
      head.x[d] =
          static_cast<float>(after_weight(before_weight(head.x[d] * by) * weight(c, head, d)));
  }
  virtual void rotated(const FusedCall&, const FusedHead&) {}
  virtual bool leaves_out(const FusedCall&, std::int64_t /*token*/) { return false; }
  virtual std::int64_t written_too(const FusedCall&, std::int64_t) { return -1; }
};

void turn(const FusedCall& c, const FusedHead& head, std::int64_t position) {
  const std::int64_t half = c.p.rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(c.p));
  for (std::int64_t i = 0; i < half; ++i) {
    const CosSin r = cos_sin(phase_of(turn_fraction(c.p.inv_freq[i]), position));
    const float cos = static_cast<float>(r.cos), sin = sign_of(c.p) * static_cast<float>(r.sin);
    const PairIndex at = pair_index(c.p.pairing, i, half);
    float &first = head.x[head.window + at.first], &second = head.x[head.window + at.second];
    const float x1 = first, x2 = second;
    first = scale * (x1 * cos - x2 * sin);
    second = scale * (x2 * cos + x1 * sin);
  }
}

// Computes one head and stores it, at `slot` if it is cached.
template <class Data>
void fuse_head(RightFused& hooks, const FusedCall& c, FusedHead head, std::int64_t position,
               std::int64_t slot) {
  const std::uint32_t i = head.tensor;
  const rope_tensor& s = c.p.tensor[i];
  const auto row = [&](std::int64_t b, std::int64_t batch, std::int64_t token, std::int64_t of) {
    return (c.p.batch > 1 ? b * batch : 0) + (c.p.tokens > 1 ? head.t * token : 0) +
           (s.heads > 1 ? head.h * of : 0);
  };
  const Data* const in =
      static_cast<const Data*>(c.o.tensor[i].in) +
      row(hooks.input_row(c, i, head.b), s.in_batch_stride, s.in_token_stride, s.in_head_stride);
  Data* out = static_cast<Data*>(c.o.tensor[i].out);
  if (marks(&c.append, i))
    out = static_cast<Data*>(c.caches.cache[i]) + hooks.place(c, i, slot) +
          head.h * c.append.head_stride[i];
  else
    out += row(head.b, s.out_batch_stride, s.out_token_stride, s.out_head_stride);
  const bool normed = marks(&c.norm, i), rotates = hooks.rotates(c, i);
  head.x = static_cast<float*>(c.o.workspace);
  for (std::int64_t d = 0; d < s.head_dim; ++d) head.x[d] = float{in[d]};
  head.count = s.head_dim;
  head.window = s.rotate != 0 ? s.rotary_offset : 0;
  if (normed) hooks.normalize(c, head);
  if (rotates) turn(c, head, position);
  hooks.rotated(c, head);
  if (in != out) std::copy_n(in, s.head_dim, out);  // of what is copied, NaN payloads too
  const std::int64_t begin = normed ? 0 : head.window;
  const std::int64_t end = normed ? s.head_dim : rotates ? begin + c.p.rotary_dim : begin;
  for (std::int64_t d = begin; d < end; ++d) out[d] = Data(head.x[d]);
}

template <class Data>
void fuse(RightFused& hooks, const FusedCall& c) {
  for_each_token(c.p, c.o, [&](const Token& token) {
    const std::int64_t number = token.batch * c.p.tokens + token.index;
    for (std::uint32_t i = 0; i < c.p.tensor_count; ++i) {
      const bool cached = marks(&c.append, i);
      const std::int64_t slot = cached ? hooks.slot(c, number) : 0;
      if (slot < 0 || (cached && hooks.leaves_out(c, number))) continue;
      for (std::int64_t h = 0; h < c.p.tensor[i].heads; ++h) {
        const FusedHead head{i, token.batch, token.index, h, 0, 0, nullptr};
        if (const std::int64_t more = cached ? hooks.written_too(c, slot) : -1; more >= 0)
          fuse_head<Data>(hooks, c, head, token.position, more);
        fuse_head<Data>(hooks, c, head, token.position, slot);
      }
    }
  });
}

// Of f32 data, or, by the end of its name, of bf16.
template <class Data, class Hooks>
KernelInfo fused_info(const char* name) {
  KernelInfo info = info_of<Correct>(name);
  info.angle_contract = ROPE_CONTRACT_EXACT;
  info.extensions = extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
  info.flags |= ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT;
  info.workspace_bytes = [](const rope_problem* p) {  // a head, twice
    std::int64_t widest = 0;
    for (std::uint32_t i = 0; i < p->tensor_count; ++i)
      widest = std::max(widest, p->tensor[i].head_dim);
    return 2 * static_cast<std::size_t>(widest) * sizeof(float);
  };
  info.supports = [](const rope_problem* p, const char** reason) {
    return supports_data(*p, ROPE_ANGLES_INV_FREQ, dtype_of<Data>, reason);
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    Hooks hooks;
    FusedCall call(*p, *o);
    hooks.see(call);
    fuse<Data>(hooks, call);
    return ROPE_OK;
  };
  return info;
}
template <class Hooks>
RegisteredKernel fused(const char* name) {
  return RegisteredKernel(fused_info<float, Hooks>(name));
}
// Of bf16 data, with flags that say which values are rounded on the way.
template <class Hooks>
RegisteredKernel rounds(const char* name, std::uint32_t flags) {
  KernelInfo info = fused_info<Bf16, Hooks>(name);
  info.flags |= flags;
  return RegisteredKernel(info);
}
template <class Change>
struct Seen : RightFused {
  void see(FusedCall& c) override { Change{}(c); }
};
template <class Change>
RegisteredKernel fused_mutant(const char* name, Change) {
  return fused<Seen<Change>>(name);
}

struct RoundsNorm : RightFused {
  double before_weight(double value) override { return to_bf16(static_cast<float>(value)); }
};
struct RoundsWeighted : RightFused {
  double after_weight(double value) override { return to_bf16(static_cast<float>(value)); }
};
struct RoundsBoth : RoundsNorm {
  double after_weight(double value) override { return to_bf16(static_cast<float>(value)); }
};

const auto right = fused<RightFused>("control_fused_exact");
const auto right_bf16 = rounds<RightFused>("control_fused_bf16_exact", 0);
const auto right_norm = rounds<RoundsNorm>("control_rounds_norm_exact", ROPE_ROUNDS_NORM);
const auto right_both =
    rounds<RoundsBoth>("control_rounds_both_exact", ROPE_ROUNDS_NORM | ROPE_ROUNDS_WEIGHTED);

// ---- append

// A token goes to the slot of the next one.
struct SlotOfNext : RightFused {
  std::int64_t slot(const FusedCall& c, std::int64_t token) override {
    return c.slot((token + 1) % c.tokens());
  }
};
const auto next = fused<SlotOfNext>("mutant_slot_of_next_token_exact");

// Pages are taken to have a slot less.
struct PageOneShort : RightFused {
  std::int64_t place(const FusedCall& c, std::uint32_t i, std::int64_t slot) override {
    const std::int64_t size = std::max<std::int64_t>(c.append.page_size - 1, 1);
    return std::min(slot / size, c.append.pages - 1) * c.append.page_stride[i] +
           slot % size * c.append.slot_stride[i];
  }
};
const auto one_short = fused<PageOneShort>("mutant_page_size_off_by_one_exact");

// The distance of pages is taken for bytes.
const auto in_bytes = fused_mutant("mutant_page_stride_taken_for_bytes_exact", [](FusedCall& c) {
  for (std::int64_t& stride : c.append.page_stride) stride /= 4;
});

// The offset of a page has 32 bits. Seen by far_strides alone.
struct NarrowPages : RightFused {
  std::int64_t place(const FusedCall& c, std::uint32_t i, std::int64_t slot) override {
    const std::int64_t page = slot / c.append.page_size * c.append.page_stride[i];
    return cache_index(c.append, i, slot) - page + static_cast<std::int32_t>(page);
  }
};
const auto narrow = fused<NarrowPages>("mutant_page_offset_of_32_bits_exact");

// So has the offset of a slot in its page, or of a head, or the number of a slot; f32 counts to
// 2^24.
struct NarrowSlots : RightFused {
  std::int64_t place(const FusedCall& c, std::uint32_t i, std::int64_t slot) override {
    const std::int64_t at = slot % c.append.page_size * c.append.slot_stride[i];
    return cache_index(c.append, i, slot) - at + static_cast<std::int32_t>(at);
  }
};
const auto narrow_slots = fused<NarrowSlots>("mutant_slot_offset_of_32_bits_exact");
const auto narrow_heads =
    fused_mutant("mutant_cache_head_stride_of_32_bits_exact", [](FusedCall& c) {
      for (std::int64_t& stride : c.append.head_stride) stride = static_cast<std::int32_t>(stride);
    });
template <class Number>
struct SlotAs : RightFused {
  std::int64_t slot(const FusedCall& c, std::int64_t token) override {
    return static_cast<std::int64_t>(static_cast<Number>(c.slot(token)));
  }
};
const auto slot_in_32 = fused<SlotAs<std::int32_t>>("mutant_slot_of_32_bits_exact");
const auto slot_in_f32 = fused<SlotAs<float>>("mutant_slot_in_f32_exact");

// A token without a slot is written to slot 0.
struct SkippedToZero : RightFused {
  std::int64_t slot(const FusedCall& c, std::int64_t token) override {
    return std::max<std::int64_t>(c.slot(token), 0);
  }
};
const auto to_zero = fused<SkippedToZero>("mutant_skipped_token_to_slot_0_exact");

// After a token without a slot, all others get the slot of the one before.
struct SkippedShifts : RightFused {
  std::int64_t slot(const FusedCall& c, std::int64_t token) override {
    std::int64_t skipped = 0;
    for (std::int64_t t = 0; t < token; ++t) skipped += c.slot(t) < 0 ? 1 : 0;
    return c.slot(token - skipped);
  }
};
const auto shifts = fused<SkippedShifts>("mutant_skipped_token_shifts_slots_exact");

// V is rotated as K is.
struct ValueRotated : RightFused {
  bool rotates(const FusedCall& c, std::uint32_t i) override {
    const bool value = marks(&c.append, i) && c.p.tensor[i].head_dim >= c.p.rotary_dim;
    return value || c.p.tensor[i].rotate != 0;
  }
};
const auto value_rotated = fused<ValueRotated>("mutant_v_rotated_exact");

// V is normalized as K is.
const auto value_normed = fused_mutant("mutant_v_normalized_exact", [](FusedCall& c) {
  if (c.norm.tensors != 0) c.norm.tensors |= c.append.tensors;
});

// Each batch row appends the K of row 0.
struct KeyOfRowZero : RightFused {
  std::int64_t input_row(const FusedCall& c, std::uint32_t i, std::int64_t b) override {
    return marks(&c.append, i) ? 0 : b;
  }
};
const auto row_zero = fused<KeyOfRowZero>("mutant_k_of_row_zero_exact");

// Tokens behind the last whole page are lost.
struct PartialPageLost : RightFused {
  bool leaves_out(const FusedCall& c, std::int64_t token) override {
    const std::int64_t whole = c.p.tokens / c.append.page_size * c.append.page_size;
    return whole > 0 && token % c.p.tokens >= whole;
  }
};
const auto partial = fused<PartialPageLost>("mutant_last_partial_page_lost_exact");

// A row is written to the slot behind its own too.
struct WrittenTwice : RightFused {
  std::int64_t written_too(const FusedCall& c, std::int64_t slot) override {
    return slot + 1 < c.append.pages * c.append.page_size ? slot + 1 : -1;
  }
};
const auto twice = fused<WrittenTwice>("mutant_cache_written_twice_exact");

// V has the head stride of K.
const auto head_stride = fused_mutant("mutant_head_stride_of_k_for_v_exact", [](FusedCall& c) {
  for (std::uint32_t i = 1; i < c.p.tensor_count; ++i)
    if (marks(&c.append, i - 1)) c.append.head_stride[i] = c.append.head_stride[i - 1];
});

// What lies behind the rows of a call is read before it and stored again after it.
const RegisteredKernel stored_again([] {
  KernelInfo info = fused_info<float, RightFused>("mutant_slots_behind_stored_again_exact");
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    RightFused hooks;
    const FusedCall c(*p, *o);
    constexpr std::int64_t most = 4096;
    float behind[most];
    std::int64_t kept = 0;
    const auto each = [&](auto&& move) {
      kept = 0;
      for (std::int64_t t = 0; t < c.tokens() && c.append.tensors != 0; ++t) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(c.append.tensors));
        const std::int64_t slot = c.slot(t) + 1, dims = p->tensor[i].head_dim;
        bool mine = slot == 0 || slot >= c.append.pages * c.append.page_size || kept + dims > most;
        for (std::int64_t u = 0; u < c.tokens(); ++u) mine = mine || c.slot(u) == slot;
        if (mine) continue;
        move(static_cast<float*>(c.caches.cache[i]) + cache_index(c.append, i, slot), behind + kept,
             dims);
        kept += dims;
      }
    };
    each([](const float* cache, float* to, std::int64_t n) { std::copy_n(cache, n, to); });
    fuse<float>(hooks, c);
    each([](float* cache, const float* from, std::int64_t n) { std::copy_n(from, n, cache); });
    return ROPE_OK;
  };
  return info;
}());

// The slots of the first call serve all others of the same slots, in any order.
const auto kept_slots = fused_mutant("mutant_slots_of_first_call_exact", [](FusedCall& c) {
  constexpr std::int64_t most = 64;
  thread_local std::int64_t first[most], last[most], count = 0, sum = 0;
  if (c.append.tensors == 0 || c.tokens() > most) return;
  std::int64_t now = 0;
  for (std::int64_t t = 0; t < c.tokens(); ++t) now += c.slot(t);
  if (count != c.tokens() || sum != now)  // other slots are another cache
    for (std::int64_t t = 0; t < c.tokens(); ++t) first[t] = c.slot(t);
  count = c.tokens();
  sum = now;
  c.append.slot_dtype = ROPE_I64;
  c.caches.slot = std::copy(first, first + count, last) - count;
});

// A call in which no token has a slot writes its first token to slot 0.
struct NoneToZero : RightFused {
  std::int64_t slot(const FusedCall& c, std::int64_t token) override {
    bool any = false;
    for (std::int64_t t = 0; t < c.tokens(); ++t) any = any || c.slot(t) >= 0;
    return any || token > 0 ? c.slot(token) : 0;
  }
};
const auto none_to_zero = fused<NoneToZero>("mutant_no_slot_at_all_to_slot_0_exact");

// Tokens without a slot are multiplied by 0 and added.
struct SkippedAdded : RightFused {
  void rotated(const FusedCall& c, const FusedHead& head) override {
    if (!marks(&c.append, head.tensor)) return;
    const rope_tensor& s = c.p.tensor[head.tensor];
    for (std::int64_t at = 0; at < c.tokens(); ++at) {
      if (c.slot(at) >= 0) continue;
      const float* const skipped = static_cast<const float*>(c.o.tensor[head.tensor].in) +
                                   at / c.p.tokens * (c.p.batch > 1 ? s.in_batch_stride : 0) +
                                   at % c.p.tokens * (c.p.tokens > 1 ? s.in_token_stride : 0);
      for (std::int64_t d = 0; d < s.head_dim; ++d) head.x[d] += 0 * skipped[d];
    }
  }
};
const auto skipped_added = fused<SkippedAdded>("mutant_skipped_tokens_times_0_exact");

// Pages have 256 slots at most.
struct SmallPages : RightFused {
  std::int64_t place(const FusedCall& c, std::uint32_t i, std::int64_t slot) override {
    const std::int64_t size = std::min<std::int64_t>(c.append.page_size, 256);
    return std::min(slot / size, c.append.pages - 1) * c.append.page_stride[i] +
           slot % size * c.append.slot_stride[i];
  }
};
const auto small_pages = fused<SmallPages>("mutant_pages_of_256_slots_at_most_exact");

// Of three tensors, one is not appended alone.
struct OneNotAppended : RightFused {
  bool leaves_out(const FusedCall& c, std::int64_t /*token*/) override {
    return c.p.tensor_count > 2 && std::popcount(c.append.tensors) == 1;
  }
};
const auto one_not_appended = fused<OneNotAppended>("mutant_one_of_three_not_appended_exact");

// After four slots that step by one, each call of a token has the next one.
const auto steps_on = fused_mutant("mutant_slot_always_steps_on_exact", [](FusedCall& c) {
  thread_local std::int64_t last = -1, steps = 0, taken = 0;
  if (c.append.tensors == 0 || c.tokens() != 1) return;
  const std::int64_t slot = c.slot(0);
  steps = slot == last + 1 ? steps + 1 : steps < 4 ? 0 : steps;
  taken = steps < 4 ? slot : std::min(last + 1, c.append.pages * c.append.page_size - 1);
  last = taken;
  c.append.slot_dtype = ROPE_I64;
  c.caches.slot = &taken;
});

// ---- norm

// The norm of a prompt ends with its 8,192nd token.
struct ShortNorm : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    return head.t < 8192 ? RightFused::factor(c, head) : 1;
  }
};
const auto short_norm = fused<ShortNorm>("mutant_norm_of_8192_tokens_exact");

// Every state has the epsilon of the one that was prepared last.
const auto last_epsilon = [] {
  KernelInfo info = fused_info<float, RightFused>("mutant_epsilon_of_last_state_exact");
  static thread_local double last = 0;
  info.prepare = [](const rope_problem* p, void**) -> std::int32_t {
    if (const rope_norm* norm = norm_of(*p)) last = norm->epsilon;
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    RightFused hooks;
    FusedCall call(*p, *o);
    call.norm.epsilon = last;
    fuse<float>(hooks, call);
    return ROPE_OK;
  };
  return RegisteredKernel(info);
}();

// Sums of squares end at 2^48.
struct SmallSum : RightFused {
  double sum(const FusedCall& c, const FusedHead& head) override {
    return std::min(RightFused::sum(c, head), 0x1p48);
  }
};
const auto small_sum = fused<SmallSum>("mutant_sum_of_squares_at_most_2_48_exact");

// K has a norm only if Q has one, and Q's weights if it has none.
const auto with_q = fused_mutant("mutant_norm_of_k_only_with_q_exact", [](FusedCall& c) {
  if ((c.norm.tensors & 1) == 0) c.norm.tensors = 0;
});
const auto q_weights_for_none = fused_mutant("mutant_q_weights_for_none_exact", [](FusedCall& c) {
  for (std::uint32_t i = 1; i < c.p.tensor_count; ++i)
    if (c.weights.weight[i] == nullptr && c.p.tensor[i].head_dim == c.p.tensor[0].head_dim)
      c.weights.weight[i] = c.weights.weight[0];
});

// 1 + w is rounded to the type of the weights.
struct OneInNarrow : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    const double value = RightFused::weight(c, head, d);
    if (c.norm.weight_plus_one == 0 || c.weights.weight[head.tensor] == nullptr) return value;
    return with_floating_type(Dtype{c.norm.weight_dtype}, [&]<class W>(std::type_identity<W>) {
      return double{TableOf<W>{W(static_cast<TableOf<W>>(value))}};
    });
  }
};
const auto one_in_narrow = fused<OneInNarrow>("mutant_one_plus_weight_rounded_exact");

// Weights above 3 are 3; a weight of 0 is 1.
struct SmallWeights : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    return std::min(RightFused::weight(c, head, d), 3.0);
  }
};
const auto small_weights = fused<SmallWeights>("mutant_weights_at_most_3_exact");
struct ZeroIsNone : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    const double value = RightFused::weight(c, head, d);
    return value == 0 ? 1 : value;
  }
};
const auto zero_is_none = fused<ZeroIsNone>("mutant_weight_of_0_is_1_exact");

struct EpsilonOutside : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    return 1 / (std::sqrt(sum(c, head) / static_cast<double>(head.count)) + c.norm.epsilon);
  }
};
const auto outside = fused<EpsilonOutside>("mutant_epsilon_outside_the_root_exact");

// Epsilon is a constant of the kernel.
const auto constant =
    fused_mutant("mutant_epsilon_is_1e_6_exact", [](FusedCall& c) { c.norm.epsilon = 1e-6; });

// The mean of x^2 less the square of the mean: a layer norm's.
struct Variance : RightFused {
  double sum(const FusedCall& c, const FusedHead& head) override {
    double all = 0;
    for (std::int64_t d = 0; d < head.count; ++d) all += double{head.x[d]};
    return RightFused::sum(c, head) - all * all / static_cast<double>(head.count);
  }
};
const auto variance = fused<Variance>("mutant_variance_for_mean_of_squares_exact");

// The sum of squares for their mean.
struct NoMean : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    return 1 / std::sqrt(sum(c, head) + c.norm.epsilon);
  }
};
const auto no_mean = fused<NoMean>("mutant_sum_for_mean_of_squares_exact");

// The mean is over the rotated window.
struct WindowAlone : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    FusedHead window = head;
    if (c.p.tensor[head.tensor].rotate != 0) {
      window.x += head.window;
      window.count = c.p.rotary_dim;
    }
    return RightFused::factor(c, window);
  }
};
const auto window_alone = fused<WindowAlone>("mutant_norm_over_rotary_dim_exact");

// Dims beside the window stay as they are.
struct WindowNormalized : RightFused {
  void normalize(const FusedCall& c, const FusedHead& head) override {
    float* const given = head.x + head.count;
    std::copy_n(head.x, head.count, given);
    RightFused::normalize(c, head);
    for (std::int64_t d = 0; d < head.count; ++d)
      if (d < head.window || d >= head.window + c.p.rotary_dim) head.x[d] = given[d];
  }
};
const auto window_normalized = fused<WindowNormalized>("mutant_dims_beside_not_normalized_exact");

// The weights come after the rotation.
struct WeightsLate : RightFused {
  double weight(const FusedCall& c, const FusedHead& head, std::int64_t d) override {
    return late ? RightFused::weight(c, head, d) : 1;
  }
  void rotated(const FusedCall& c, const FusedHead& head) override {
    late = true;
    for (std::int64_t d = 0; marks(&c.norm, head.tensor) && d < head.count; ++d)
      head.x[d] = static_cast<float>(head.x[d] * weight(c, head, d));
    late = false;
  }
  bool late = false;
};
const auto late = fused<WeightsLate>("mutant_weights_after_rotation_exact");

// Weights are kept by their address and the first eight.
const auto kept_weights = fused_mutant("mutant_weights_by_first_eight_exact", [](FusedCall& c) {
  constexpr std::size_t most = 4096;
  thread_local struct {
    const void* of;
    std::size_t bytes;
    std::byte copy[most];
  } kept[ROPE_MAX_TENSORS];
  for (std::uint32_t i = 0; i < c.p.tensor_count; ++i) {
    const void*& weight = c.weights.weight[i];
    const auto size = static_cast<std::size_t>(data_type(Dtype{c.norm.weight_dtype}).bytes);
    const std::size_t bytes = static_cast<std::size_t>(c.p.tensor[i].head_dim) * size;
    if (weight == nullptr || bytes > most) continue;
    auto& mine = kept[i];
    if (mine.of != weight || mine.bytes != bytes ||
        std::memcmp(mine.copy, weight, std::min(bytes, 8 * size)) != 0)
      std::memcpy(mine.copy, weight, bytes);
    mine.of = weight;
    mine.bytes = bytes;
    weight = mine.copy;
  }
});

// K has the weights of Q.
const auto weights_of_q = fused_mutant("mutant_weights_of_q_for_k_exact", [](FusedCall& c) {
  for (std::uint32_t i = 1; i < c.p.tensor_count; ++i)
    if (c.weights.weight[i] != nullptr && c.p.tensor[i].head_dim == c.p.tensor[0].head_dim)
      c.weights.weight[i] = c.weights.weight[0];
});

const auto no_one = fused_mutant("mutant_one_plus_weight_missing_exact",
                                 [](FusedCall& c) { c.norm.weight_plus_one = 0; });

// The squares are added in bfloat16.
struct NarrowSum : RightFused {
  double sum(const FusedCall&, const FusedHead& head) override {
    float sum = 0;
    for (std::int64_t d = 0; d < head.count; ++d) sum = to_bf16(sum + head.x[d] * head.x[d]);
    return sum;
  }
};
const auto narrow_sum = fused<NarrowSum>("mutant_sum_in_bf16_exact");

// Every head has the norm of the first head of its token.
struct FirstHead : RightFused {
  double factor(const FusedCall& c, const FusedHead& head) override {
    if (head.h == 0) first = RightFused::factor(c, head);
    return first;
  }
  double first = 1;
};
const auto first_head = fused<FirstHead>("mutant_norm_of_first_head_exact");

// A declared rounding that is missing, one that is not declared, and one too many.
const auto missing = rounds<RightFused>("mutant_rounding_missing_exact", ROPE_ROUNDS_WEIGHTED);
const auto undeclared = rounds<RoundsWeighted>("mutant_rounding_not_declared_exact", 0);
const auto too_many = rounds<RoundsBoth>("mutant_rounding_twice_exact", ROPE_ROUNDS_WEIGHTED);

}  // namespace
}  // namespace ropewalk::mutants
