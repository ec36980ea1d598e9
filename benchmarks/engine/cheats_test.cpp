// Kernels that are right in a call alone, and leave out a part of their work, or calls, where calls
// follow one another.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "benchmarks/testing/paired_run.h"
#include "benchmarks/workloads/workload_layout.h"

namespace ropewalk::bench {
namespace {

// ---- calls that are left out, and how a kernel chooses which

constexpr std::size_t floats[2] = {2 * 3 * 2 * 8, 2 * 3 * 8};  // of Q and K of the toy workload

// One cheat at a time runs, in one thread. Static, since a kernel may not allocate.
std::int64_t made = 0;

const float* in_of(const rope_operands* o, std::size_t i) {
  return static_cast<const float*>(o->tensor[i].in);
}
float* out_of(const rope_operands* o, std::size_t i) {
  return static_cast<float*>(o->tensor[i].out);
}
using Positions = std::array<std::int32_t, 6>;
Positions positions_of(const rope_operands* o) {
  Positions positions{};
  std::memcpy(positions.data(), o->positions, sizeof positions);
  return positions;
}

/// The first elements of Q and K, and the last.
using Ends = std::array<float, 4>;
template <class TensorOf>
Ends ends_of(TensorOf tensor_of, const rope_operands* o) {
  const float *const q = tensor_of(o, 0), *const k = tensor_of(o, 1);
  return {q[0], q[floats[0] - 1], k[0], k[floats[1] - 1]};
}

/// What a call left.
struct Answer {
  float tensor[2][floats[0]] = {};
  void make(const rope_problem* p, const rope_operands* o) {
    apply_toy(p, o, nullptr);
    for (const std::size_t i : {0u, 1u}) std::copy_n(out_of(o, i), floats[i], tensor[i]);
  }
  void give(const rope_operands* o) const {
    for (const std::size_t i : {0u, 1u}) std::copy_n(tensor[i], floats[i], out_of(o, i));
  }
};

std::int32_t first_answer(const rope_problem* p, const rope_operands* o, void*) {
  static Answer first;
  if (made++ == 0) first.make(p, o);
  first.give(o);
  return ROPE_OK;
}
/// Leaves a call out that follows the last one at once. Verification, a profiler and a debugger see
/// every call made.
std::int32_t if_late(const rope_problem* p, const rope_operands* o, void*) {
  static std::chrono::steady_clock::time_point ended;
  const bool at_once = std::chrono::steady_clock::now() - ended < std::chrono::microseconds(1);
  const std::int32_t status = at_once && ++made > 50 ? ROPE_OK : apply_toy(p, o, nullptr);
  ended = std::chrono::steady_clock::now();
  return status;
}
std::int32_t one_in_eight(const rope_problem* p, const rope_operands* o, void*) {
  return made++ % 8 == 0 ? apply_toy(p, o, nullptr) : ROPE_OK;
}
std::int32_t if_ends_differ(const rope_problem* p, const rope_operands* o, void*) {
  static Ends given, left;
  if (given != ends_of(in_of, o) || left != ends_of(out_of, o)) apply_toy(p, o, nullptr);
  given = ends_of(in_of, o);
  left = ends_of(out_of, o);
  return ROPE_OK;
}
std::int32_t last_but_one(const rope_problem* p, const rope_operands* o, void*) {
  static Answer answers[2];
  Answer &older = answers[made++ % 2], now;
  now.make(p, o);
  if (made > 8) older.give(o);
  older = now;
  return ROPE_OK;
}
std::int32_t fourth_positions(const rope_problem* p, const rope_operands* o, void*) {
  static Positions kept;
  if (made++ < 4) kept = positions_of(o);
  ToyCall call(p, o);
  call.operands.positions = kept.data();
  return call.make();
}
/// In place: turns forward by the difference of the positions and never back.
std::int32_t by_the_difference(const rope_problem* p, const rope_operands* o, void*) {
  static Positions before;
  if (p->operation == ROPE_TRANSPOSE) {
    before = positions_of(o);
    ++made;
    return ROPE_OK;
  }
  if (made == 0) return apply_toy(p, o, nullptr);
  Positions by = positions_of(o);
  for (std::size_t i = 0; i < by.size(); ++i) by[i] -= before[i];
  ToyCall call(p, o);
  if (*std::min_element(by.begin(), by.end()) < 0) {
    call.problem.operation = ROPE_TRANSPOSE;
    for (std::int32_t& each : by) each = -each;
  }
  call.operands.positions = by.data();
  return call.make();
}
/// In place: skips every second pair of backward and forward calls: the buffer already holds the
/// data turned forward.
std::int32_t half_the_pairs(const rope_problem* p, const rope_operands* o, void*) {
  static const void* left = nullptr;
  const void* data = o->tensor[0].out;
  if (p->operation == ROPE_TRANSPOSE) {
    left = data;
    return ROPE_OK;
  }
  const bool was_left = std::exchange(left, nullptr) == data && made++ % 2 == 0;
  return was_left ? ROPE_OK : apply_toy(p, o, nullptr);
}
/// Out of place: keeps an answer for each of the positions that come round, and looks at the ends
/// of the input.
std::int32_t all_of_the_window(const rope_problem* p, const rope_operands* o, void*) {
  static Answer kept[64];
  static Ends ends[64];
  const auto at = static_cast<std::size_t>(positions_of(o)[0]) % 64;
  const Ends given = ends_of(in_of, o);
  if (made++ == 0 || std::exchange(ends[at], given) != given) kept[at].make(p, o);
  kept[at].give(o);
  return ROPE_OK;
}

/// What a cheat learns of the calls of an epoch.
struct EpochSeen {
  std::int64_t call = 0, of_last = 0, most = 0;
  float left = 0;
  /// In place, buffers filled anew hold not what a call left; out of place they hold NaN.
  void count(const rope_operands* o) {
    float& now = out_of(o, 0)[0];
    const bool in_place = o->tensor[0].in == o->tensor[0].out;
    const bool is_first = in_place ? now != left : std::isnan(now);
    if (is_first) of_last = std::exchange(call, 0);
    if (is_first && !in_place) now = 0;
    most = std::max(most, ++call);
  }
};
/// Makes the calls of an epoch that are chosen, once it has learnt how many there are.
template <auto is_chosen>
std::int32_t by_number(const rope_problem* p, const rope_operands* o, void*) {
  static EpochSeen seen;
  seen.count(o);
  if (++made < 400 || is_chosen(seen)) apply_toy(p, o, nullptr);
  seen.left = out_of(o, 0)[0];
  return ROPE_OK;
}
constexpr auto last_alone = [](const EpochSeen& e) { return e.call >= e.of_last; };
constexpr auto first_and_last = [](const EpochSeen& e) {
  return e.call <= 6 || e.call + 6 > e.most;
};

// ---- parts of a fused norm and append that are left out

// What a cheat takes for a sign of new data, beside its first call, and then does all its work.
enum Sign : std::uint32_t { no_sign, new_output, new_slots };

// What a cheat knows of the call before, on at most three tokens of the toy workload, and what its
// own call repeats of that.
struct CallBefore {
  std::int64_t calls = 0, position[3] = {}, slot[3] = {};
  float factor[2][3][2] = {};  // by tensor, token and head
  bool may_leave_out = false, repeats_slot[3] = {}, steps_on[3] = {};
  void begin(const rope_problem* p, const rope_operands* o, Sign sign) {
    bool slots = true;
    for (std::int64_t t = 0; t < p->tokens; ++t) {
      const std::int64_t now_slot = slot_at(*append_of(*p), *append_of(*o), t),
                         now = token_at(*p, *o, 0, t).position;
      repeats_slot[t] = std::exchange(slot[t], now_slot) == now_slot;
      steps_on[t] = std::exchange(position[t], now) + 1 == now;
      slots = slots && repeats_slot[t];
    }
    const bool is_new = std::isnan(*static_cast<const float*>(o->tensor[0].out));
    may_leave_out =
        calls++ > 0 && !(sign == new_output && is_new) && !(sign == new_slots && !slots);
  }
} before;

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
  before.begin(p, o, sign);
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
        for (int d = 0; d < 8 && before.may_leave_out; ++d) out[d] *= then / now;
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
  before.begin(p, o, sign);
  return apply_leaving(p, o, 2, [&](std::int64_t t, std::int64_t d) {
    return before.may_leave_out && (p->tokens > 1 ? t : d / 4) % 2 == before.calls % 2;
  });
}
template <std::uint32_t tensor>
std::int32_t append_where_slots_repeat(const rope_problem* p, const rope_operands* o, void*) {
  before.begin(p, o, new_output);
  return apply_leaving(p, o, tensor, [&](std::int64_t t, std::int64_t) {
    return before.may_leave_out && before.repeats_slot[t];
  });
}

/// By cos and sin in bf16 if a token's position is that of the call before, plus one.
std::int32_t coarse_where_positions_step(const rope_problem* p, const rope_operands* o, void*) {
  before.begin(p, o, no_sign);
  for_each_token(*p, *o, [&](const Token& token) {
    const auto rounded = [&](float x) {
      return before.may_leave_out && before.steps_on[token.index] ? float{Bf16(x)} : x;
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
  ToyCall call(p, o);
  const void *&weight = call.given.norm.weight[1], *&slot = call.given.append.slot;
  const auto* const w = static_cast<const float*>(weight);
  const auto* const s = static_cast<const std::int64_t*>(slot);
  const std::int64_t count = p->batch * p->tokens;
  if (slots)
    slot = rows.try_emplace({s, count}, s, s + count).first->second.data();
  else
    weight = weights.try_emplace(w, w, w + p->tensor[1].head_dim).first->second.data();
  return call.make();
}

/// The cheat, where norm and append are a part of its calls, and else the right toy.
template <Apply cheat>
std::int32_t if_fused(const rope_problem* p, const rope_operands* o, void*) {
  return (norm_of(*p) == nullptr ? Apply{apply_toy} : cheat)(p, o, nullptr);
}

void fuse(Workload& w, std::int64_t tokens) {
  w.batch = 1;
  w.tokens = tokens;
  set_in_place(w, false);
  take_norm(w);
  take_append(w);
  lay_out(w);
}

TEST(Cheats, AreSeen) {
  struct Place {
    const char* name;
    void (*change)(Workload&);
  };
  const Place in_place{"in place", [](Workload&) {}},
      out_of_place{"out of place", [](Workload&w) { set_in_place(w, false); }},
      fused_1{"fused, 1 token", [](Workload&w) { fuse(w, 1); }},
      fused_3{"fused, 3 tokens", [](Workload&w) { fuse(w, 3); }};
  struct Cheat {
    const char* name;
    Apply apply;
    std::vector<Place> where;
    const char* why = "the exact rotation";
    int launches = 1;  ///< the most; chance has it what the calls that are judged meet
    std::uint32_t exceptions = 0;
    Supports supports = supports_toy;
  };
  const std::vector<Place> both{in_place, out_of_place}, fuses{fused_1, fused_3};
  const char *const no_norm = "normalized", *const no_copy = "not a copy of its input: t2";
  for (const Cheat& cheat :
       {Cheat{"first_answer", first_answer, both},
        Cheat{"if_late", if_late, both},
        Cheat{"one_in_eight", one_in_eight, both},
        Cheat{"if_ends_differ", if_ends_differ, both},
        Cheat{"last_but_one", last_but_one, both},
        Cheat{"fourth_positions", fourth_positions, both},
        Cheat{"by_the_difference", by_the_difference, {in_place}},
        Cheat{"half_the_pairs", half_the_pairs, {in_place}},
        Cheat{"all_of_the_window", all_of_the_window, {out_of_place}},
        Cheat{"last_alone", by_number<last_alone>, both, "the exact rotation", 3},
        Cheat{"first_and_last", by_number<first_and_last>, both, "the exact rotation", 3},
        Cheat{.name = "first_and_last_forward",
        .apply = by_number<first_and_last>,
        .where = {in_place},
        .launches = 3,  // they leave nothing out in short epochs
              .supports = supports_one<ROPE_FORWARD>},
        Cheat{"norm", if_fused<norm_of_the_call_before<no_sign>>, fuses, no_norm, 12},
        Cheat{"norm_by_output", if_fused<norm_of_the_call_before<new_output>>, fuses, no_norm, 12},
        Cheat{"norm_by_slots", if_fused<norm_of_the_call_before<new_slots>>, fuses, no_norm, 12},
        Cheat{"v_in_turns", if_fused<v_in_turns<no_sign>>, fuses, no_copy, 12},
        Cheat{"v_by_output", if_fused<v_in_turns<new_output>>, fuses, no_copy, 12},
        Cheat{"v_by_slots", if_fused<v_in_turns<new_slots>>, fuses, no_copy, 12},
        Cheat{"v_where_slots_change", if_fused<append_where_slots_repeat<2>>, fuses, no_copy, 12},
        Cheat{"k_by_slots", if_fused<append_where_slots_repeat<1>>, fuses,
              "the normalized head: k"},
        Cheat{"coarse", if_fused<coarse_where_positions_step>, fuses, "the normalized head"},
        Cheat{"weights", if_fused<apply_by_address<false>>, fuses, no_norm, 1, ROPE_ALLOCATES},
        Cheat{"slots", if_fused<apply_by_address<true>>, fuses, "token", 1, ROPE_ALLOCATES}})
    for (const Place& where : cheat.where) {
      SCOPED_TRACE(std::string(cheat.name) + ", " + where.name);
      rope_kernel bad = toy_kernel(cheat.name, cheat.apply);
      bad.extensions = extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);
      bad.exceptions = cheat.exceptions;
      bad.supports = cheat.supports;
      PairedOutcome outcome;
      for (int launch = 0; launch < cheat.launches; ++launch) {
        made = 0;
        before = {};
        outcome = run_beside_good(bad, [&](PairedPlan& p) {
          where.change(p.workloads[0]);
          p.rounds = 20;
          p.epoch_s = 2e-4;
          p.launch = launch;
        });
        const report::TimingRow* row = outcome.of(cheat.name);
        if (row != nullptr && row->outcome == report::Outcome::broken) break;
      }
      expect_broken(outcome, cheat.name, cheat.why);
    }
}

}  // namespace
}  // namespace ropewalk::bench
