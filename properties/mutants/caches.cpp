// Errors in the append of rows to a paged cache (rope_append).
#include <algorithm>
#include <bit>
#include <cstddef>

#include "properties/mutants/fused.h"

namespace ropewalk::mutants {
namespace {

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

}  // namespace
}  // namespace ropewalk::mutants
