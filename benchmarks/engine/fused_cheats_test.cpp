// Kernels that fuse a norm and an append. Each is right in a call alone, and leaves out a part of
// the work where calls follow one another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "benchmarks/testing/paired_run.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
namespace {

using report::Outcome;

// What a cheat knows of the call before. One at a time runs, in one thread, on at most three tokens
// of the toy workload. Static, since a kernel may not allocate.
struct CallBefore {
  std::int64_t calls = 0, position[3] = {}, slot[3] = {};
  float factor[2][3][2] = {};  // by tensor, token and head
} before;

// What a cheat takes for a sign of new data, beside its first call, and then does all its work.
enum Sign : std::uint32_t { no_sign, new_output, new_slots };

/// What a call repeats of the one before; `any`: it may leave out work at all.
struct Repeated {
  bool any, slot[3], next_position[3];
};
Repeated begin_call(const rope_problem* p, const rope_operands* o, Sign sign) {
  Repeated out{before.calls++ > 0, {}, {}};
  bool slots = true;
  for (std::int64_t t = 0; t < p->tokens; ++t) {
    const std::int64_t slot = slot_at(*append_of(*p), *append_of(*o), t),
                       position = token_at(*p, *o, 0, t).position;
    out.slot[t] = std::exchange(before.slot[t], slot) == slot;
    out.next_position[t] = std::exchange(before.position[t], position) + 1 == position;
    slots = slots && out.slot[t];
  }
  const bool is_new = std::isnan(*static_cast<const float*>(o->tensor[0].out));
  if ((sign == new_output && is_new) || (sign == new_slots && !slots)) out.any = false;
  return out;
}

float* row_of(const rope_problem* p, const rope_operands* o, std::uint32_t i, std::int64_t t,
              std::int64_t head) {
  const rope_tensor& s = p->tensor[i];
  const rope_append& append = *append_of(*p);
  if (!marks(&append, i))
    return static_cast<float*>(o->tensor[i].out) + t * s.out_token_stride + head * 8;
  return static_cast<float*>(append_of(*o)->cache[i]) +
         cache_index(append, i, slot_at(append, *append_of(*o), t)) + head * append.head_stride[i];
}

/// Multiplies by the factors of the norm that the call before found.
template <Sign sign>
std::int32_t norm_of_the_call_before(const rope_problem* p, const rope_operands* o, void*) {
  if (norm_of(*p) == nullptr) return apply_toy(p, o, nullptr);  // unfused
  const Repeated repeated = begin_call(p, o, sign);
  apply_toy(p, o, nullptr);
  for (const std::uint32_t i : {0u, 1u})
    for (std::int64_t t = 0; t < p->tokens; ++t)
      for (std::int64_t head = 0; head < p->tensor[i].heads; ++head) {
        const float* in = static_cast<const float*>(o->tensor[i].in) +
                          t * p->tensor[i].in_token_stride + head * 8;
        float squares = 0;
        for (int d = 0; d < 8; ++d) squares += in[d] * in[d];
        const float now = 1 / std::sqrt(squares / 8);
        const float then = std::exchange(before.factor[i][t][head], now);
        float* const out = row_of(p, o, i, t, head);
        for (int d = 0; d < 8 && repeated.any; ++d) out[d] *= then / now;
      }
  return ROPE_OK;
}

/// Leaves the elements of a row of a cache as they are for which leaves(token, element).
template <class Leaves>
std::int32_t apply_leaving(const rope_problem* p, const rope_operands* o, std::uint32_t tensor,
                           Leaves&& leaves) {
  float left[3][8];
  for (std::int64_t t = 0; t < p->tokens; ++t) std::copy_n(row_of(p, o, tensor, t, 0), 8, left[t]);
  apply_toy(p, o, nullptr);
  for (std::int64_t t = 0; t < p->tokens; ++t)
    for (std::int64_t d = 0; d < 8; ++d)
      if (leaves(t, d)) row_of(p, o, tensor, t, 0)[d] = left[t][d];
  return ROPE_OK;
}
/// Of several tokens copies the rows of every second, of one token half of its row.
template <Sign sign>
std::int32_t v_in_turns(const rope_problem* p, const rope_operands* o, void*) {
  if (norm_of(*p) == nullptr) return apply_toy(p, o, nullptr);
  const Repeated repeated = begin_call(p, o, sign);
  return apply_leaving(p, o, 2, [&](std::int64_t t, std::int64_t d) {
    return repeated.any && (p->tokens > 1 ? t : d / 4) % 2 == before.calls % 2;
  });
}
template <std::uint32_t tensor>
std::int32_t append_where_slots_repeat(const rope_problem* p, const rope_operands* o, void*) {
  if (norm_of(*p) == nullptr) return apply_toy(p, o, nullptr);
  const Repeated repeated = begin_call(p, o, new_output);
  return apply_leaving(
      p, o, tensor, [&](std::int64_t t, std::int64_t) { return repeated.any && repeated.slot[t]; });
}

/// By cos and sin in bf16 if a token's position is that of the call before, plus one.
std::int32_t coarse_where_positions_step(const rope_problem* p, const rope_operands* o, void*) {
  if (norm_of(*p) == nullptr) return apply_toy(p, o, nullptr);
  const Repeated repeated = begin_call(p, o, no_sign);
  for_each_token(*p, *o, [&](const Token& token) {
    const auto rounded = [&](float x) {
      return repeated.any && repeated.next_position[token.index] ? float{Bf16(x)} : x;
    };
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      for (std::int64_t i = 0; i < 4; ++i) {
        const float a = head.in[i], b = head.in[i + 4], cos = rounded(head.cos[i]),
                    sin = rounded(head.sin[i]);
        head.out[i] = a * cos - b * sin;
        head.out[i + 4] = a * sin + b * cos;
      }
    });
  });
  return ROPE_OK;
}

// Keeps the weights of K, or the slots, that it found at their address first. A run of more tokens
// may have its slots where one before had fewer.
template <bool slots>
std::int32_t apply_by_address(const rope_problem* p, const rope_operands* o, void*) {
  static std::map<const void*, std::vector<float>> weights;
  static std::map<std::pair<const void*, std::int64_t>, std::vector<std::int64_t>> rows;
  if (norm_of(*o) == nullptr) return apply_toy(p, o, nullptr);  // unfused
  rope_norm_operands norm = *norm_of(*o);
  rope_append_operands append = *append_of(*o);
  norm.ext.next = &append.ext;
  append.ext.next = nullptr;
  const auto* const weight = static_cast<const float*>(norm.weight[1]);
  const auto* const slot = static_cast<const std::int64_t*>(append.slot);
  const std::int64_t count = p->batch * p->tokens;
  if (slots)
    append.slot = rows.try_emplace({slot, count}, slot, slot + count).first->second.data();
  else
    norm.weight[1] =
        weights.try_emplace(weight, weight, weight + p->tensor[1].head_dim).first->second.data();
  rope_operands operands = *o;
  operands.next = &norm.ext;
  return apply_toy(p, &operands, nullptr);
}

TEST(FusedCheats, AreSeen) {
  struct Cheat {
    const char* name;
    std::int32_t (*apply)(const rope_problem*, const rope_operands*, void*);
    const char* why;
    int launches = 12;  ///< the most; chance has it what the calls that are judged meet
    std::uint32_t exceptions = 0;
  };
  const auto is_seen = [](const PairedOutcome& outcome, const char* name) {
    const report::TimingRow* row = outcome.of(name);
    return row != nullptr && row->outcome == Outcome::broken;
  };
  rope_kernel good = toy_kernel("good");
  good.extensions = extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
  for (const Cheat& cheat :
       {Cheat{"norm", norm_of_the_call_before<no_sign>, "normalized"},
        Cheat{"norm_by_output", norm_of_the_call_before<new_output>, "normalized"},
        Cheat{"norm_by_slots", norm_of_the_call_before<new_slots>, "normalized"},
        Cheat{"v_in_turns", v_in_turns<no_sign>, "not a copy of its input: t2"},
        Cheat{"v_by_output", v_in_turns<new_output>, "not a copy of its input: t2"},
        Cheat{"v_by_slots", v_in_turns<new_slots>, "not a copy of its input: t2"},
        Cheat{"k_by_slots", append_where_slots_repeat<1>, "the normalized head: k", 1},
        Cheat{"v_where_slots_change", append_where_slots_repeat<2>, "not a copy of its input: t2"},
        Cheat{"coarse", coarse_where_positions_step, "the normalized head", 1},
        Cheat{"weights", apply_by_address<false>, "normalized", 1, ROPE_ALLOCATES},
        Cheat{"slots", apply_by_address<true>, "token", 1, ROPE_ALLOCATES}})
    for (const std::int64_t tokens : {1, 3}) {
      rope_kernel bad = good;
      bad.name = cheat.name;
      bad.apply = cheat.apply;
      bad.exceptions = cheat.exceptions;
      PairedOutcome outcome;
      for (int launch = 0; launch < cheat.launches && !is_seen(outcome, cheat.name); ++launch) {
        before = {};
        outcome = run({&good, &bad}, [&](PairedPlan& p) {
          Workload& w = p.workloads[0];
          w.batch = 1;
          w.tokens = tokens;
          set_in_place(w, false);
          take_norm(w);
          take_append(w);
          lay_out(w);
          p.baseline = "good";
          p.rounds = 20;
          p.epoch_s = 2e-4;
          p.launch = launch;
        });
        EXPECT_EQ(outcome.of("good")->outcome, Outcome::measured) << outcome.of("good")->reason;
      }
      SCOPED_TRACE(std::string(cheat.name) + ", tokens: " + std::to_string(tokens));
      expect_broken(outcome, cheat.name, cheat.why);
    }
}

}  // namespace
}  // namespace ropewalk::bench
