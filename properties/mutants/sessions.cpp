// Errors that need a history: a third call, a second state, a release, thousands of calls. Also
// correct kernels that keep much.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Rotates in the opposite direction if `wrong`, which every property finds.
std::int32_t turned(const rope_problem* p, const rope_operands* o, bool wrong) {
  rope_problem seen = *p;
  if (wrong) seen.operation = ROPE_TRANSPOSE - seen.operation;
  return apply<Correct>(&seen, o, nullptr);
}

struct Counted {
  std::int64_t calls = 0;
  const void* tables = nullptr;
};
// The third call on a state is wrong. A suite that makes two calls a state never finds it.
KernelInfo third_call_info() {
  KernelInfo info = with_state<Counted>(table_info<Correct>("mutant_third_call_table"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    return turned(p, o, ++static_cast<Counted*>(state)->calls == 3);
  };
  return info;
}
const RegisteredKernel third_call{third_call_info()};

// What a state holds of a call with one token, whose position it turns by ever after.
struct Held {
  std::int64_t calls = 0;
  std::int32_t position = 0;
  const void* positions = nullptr;
};
std::int32_t turned_at(const rope_problem* p, const rope_operands* o,
                       const std::int32_t& position) {
  rope_operands seen = *o;
  seen.positions = &position;
  return apply<Correct>(p, &seen, nullptr);
}
bool has_one_position(const rope_problem& p, const rope_operands& o) {
  return p.batch * p.tokens == 1 && p.position_dtype == ROPE_I32 && o.positions != nullptr;
}

// From the seventh call with positions at one address on, the position of the sixth: what a graph
// that was captured then would replay.
KernelInfo captured_info() {
  KernelInfo info = with_state<Held>(table_info<Correct>("mutant_position_of_call_6_table"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    Held& held = *static_cast<Held*>(state);
    if (!has_one_position(*p, *o)) return turned(p, o, false);
    held.calls = o->positions == held.positions ? held.calls + 1 : 1;
    held.positions = o->positions;
    if (held.calls <= 6) held.position = *static_cast<const std::int32_t*>(o->positions);
    return turned_at(p, o, held.position);
  };
  return info;
}
const RegisteredKernel captured{captured_info()};

// Positions end at the largest of the first three calls, or at 4,096: a table that grew once.
KernelInfo grown_once_info() {
  KernelInfo info = with_state<Held>(table_info<Correct>("mutant_grown_once_table"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    Held& held = *static_cast<Held*>(state);
    if (!has_one_position(*p, *o)) return turned(p, o, false);
    const std::int32_t now = *static_cast<const std::int32_t*>(o->positions);
    if (++held.calls <= 3) held.position = std::max({held.position, now, 4096});
    return turned_at(p, o, std::min(now, held.position));
  };
  return info;
}
const RegisteredKernel grown_once{grown_once_info()};

// A state whose first call held zeros alone only copies ever after: what that call measured is kept
// as the scale of all.
bool holds_zeros(const rope_problem& p, const rope_operands& o) {
  bool zeros = p.tensor[0].rotate != 0;
  for_each_token(p, o, [&](const Token& token) {
    for (std::int64_t h = 0; h < p.tensor[0].heads && zeros; ++h) {
      const float* const row =
          in_row(p, o, 0, token.batch, token.index, h) + p.tensor[0].rotary_offset;
      zeros = std::all_of(row, row + p.rotary_dim, [](float x) { return x == 0; });
    }
  });
  return zeros;
}
KernelInfo first_of_zeros_info() {
  KernelInfo info = with_state<Counted>(table_info<Correct>("mutant_scale_of_zeros_table"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    Counted& seen = *static_cast<Counted*>(state);
    if (seen.calls++ == 0 && holds_zeros(*p, *o)) seen.tables = p;
    rope_problem as_is = *p;
    if (seen.tables != nullptr) for_each_tensor(as_is, [](rope_tensor& t) { t.rotate = 0; });
    return apply<Correct>(&as_is, o, nullptr);
  };
  return info;
}
const RegisteredKernel first_of_zeros{first_of_zeros_info()};

// The first call of a process chooses the code of all: if it is a decode step, later ones have one
// position a batch row.
struct ChosenByDecode : Correct {
  void see(rope_problem& p, rope_operands&) override {
    static const bool is_decode = p.tokens == 1;
    if (is_decode) p.position_token_stride = 0;
  }
};
const RegisteredKernel chosen_by_decode =
    on_table<ChosenByDecode>("mutant_chosen_by_decode_of_process_table");

// If it is in place with gaps between its rows, later calls read their input where they write.
struct ChosenByGaps : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    const rope_tensor& t = p.tensor[0];
    static const bool has_gaps =
        t.in_place != 0 && p.tokens > 1 && t.in_token_stride > t.heads * t.head_dim;
    if (has_gaps) read_from_output(p, o, 0);
  }
};
const RegisteredKernel chosen_by_gaps =
    on_table<ChosenByGaps>("mutant_chosen_by_gaps_of_call_1_table");

// The sign of sin for the backward pass is there from the second call of a process on.
struct SignMadeLate : Correct {
  float sin_sign(const rope_problem& p) override { return is_first ? 1 : Correct::sin_sign(p); }
  void see(rope_problem&, rope_operands&) override {
    static bool is_known = false;
    is_first = !std::exchange(is_known, true);
  }
  bool is_first = false;
};
const RegisteredKernel sign_made_late =
    on_table<SignMadeLate>("mutant_backward_call_1_of_process_table");

// Correct outputs, and a misdeed in every hundredth call on a state.
template <void (*misdeed)()>
KernelInfo on_hundredth_call(const char* name) {
  KernelInfo info = with_state<std::atomic<std::int64_t>>(table_info<Correct>(name));
  info.flags |= ROPE_THREAD_SAFE;
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    if (++*static_cast<std::atomic<std::int64_t>*>(state) % 100 == 0) misdeed();
    return turned(p, o, false);
  };
  return info;
}

void allocate() {
  void* volatile block = std::malloc(99);
  std::free(block);
}
const RegisteredKernel allocates_late{
    on_hundredth_call<allocate>("mutant_allocates_on_100th_call_table")};

void flush_subnormals() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8000);
#else
  std::fesetround(FE_DOWNWARD);
#endif
}
const RegisteredKernel flushes_late{
    on_hundredth_call<flush_subnormals>("mutant_leaves_ftz_on_100th_call_table")};

// A count of calls that takes 65,536 for none.
KernelInfo sixteen_bits_info() {
  KernelInfo info = with_state<Counted>(table_info<Correct>("mutant_on_call_65536_table"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    return turned(p, o, ++static_cast<Counted*>(state)->calls % 65536 == 0);
  };
  return info;
}
const RegisteredKernel sixteen_bits{sixteen_bits_info()};

// One state for all problems, which is right while only one is alive.
struct OnlyState {
  double scale = 0;
  std::int64_t tokens = 0;
  std::int32_t operation = 0, pairing = 0;
};
KernelInfo one_state_info() {
  KernelInfo info = table_info<Correct>("mutant_one_state_for_all_table");
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    static OnlyState only;
    only = {p->attention_scale, p->tokens, p->operation, p->pairing};
    *state = &only;
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    const auto& kept = *static_cast<const OnlyState*>(state);
    rope_problem seen = *p;
    seen.operation = kept.operation;
    seen.attention_scale = kept.scale;
    return apply<Correct>(&seen, o, nullptr);
  };
  return info;
}
const RegisteredKernel one_state{one_state_info()};

// A state takes what it needs at its first call, from the problem that was prepared last.
struct Late {
  bool begun = false;
  double scale = 0;
};
double last_prepared = 0;
KernelInfo taken_late_info() {
  KernelInfo info = with_state<Late>(table_info<Correct>("mutant_state_made_at_first_call_table"));
  info.prepare = [](const rope_problem* p, void** state) {
    last_prepared = p->attention_scale;
    return make_state<Late>(p, state);
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    Late& late = *static_cast<Late*>(state);
    if (!std::exchange(late.begun, true)) late.scale = last_prepared;
    rope_problem seen = *p;
    seen.attention_scale = late.scale;
    return apply<Correct>(&seen, o, nullptr);
  };
  return info;
}
const RegisteredKernel taken_late{taken_late_info()};

// A prompt of a state that has had one goes on where 32 and more steps of others have ended.
struct Prompted {
  std::int64_t steps = -1;  ///< of the process at the last prompt
};
std::int64_t steps_of_process = 0, end_of_steps = 0;
KernelInfo goes_on_info() {
  KernelInfo info =
      with_state<Prompted>(angles_info<Correct>("mutant_second_prompt_goes_on_exact"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    Prompted& prompted = *static_cast<Prompted*>(state);
    rope_problem seen = *p;
    rope_operands given = *o;
    const std::int64_t since = steps_of_process - prompted.steps;
    const bool goes_on = prompted.steps >= 0 && since >= 32 && since < 200;
    if (p->batch * p->tokens == 1) {
      ++steps_of_process;
      for_each_token(*p, *o, [](const Token& token) { end_of_steps = token.position; });
    } else if (p->tokens >= 64) {
      prompted.steps = steps_of_process;
      if (goes_on) {
        read_positions_from(seen, given, &end_of_steps);
        seen.position_token_stride = seen.position_batch_stride = 0;
      }
    }
    return apply<Correct>(&seen, &given, nullptr);
  };
  return info;
}
const RegisteredKernel goes_on{goes_on_info()};

// After 25 steps, each one position on, a state no longer reads its position.
struct Counting {
  std::int64_t steps = 0, last = -2;
};
KernelInfo counts_on_info() {
  KernelInfo info =
      with_state<Counting>(angles_info<Correct>("mutant_counts_on_after_25_steps_exact"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    Counting& c = *static_cast<Counting*>(state);
    if (p->batch * p->tokens != 1) return apply<Correct>(p, o, nullptr);
    std::int64_t now = 0;
    for_each_token(*p, *o, [&](const Token& token) { now = token.position; });
    c.steps = c.steps >= 25 || now == c.last + 1 ? c.steps + 1 : 0;
    c.last = c.steps > 25 ? c.last + 1 : now;
    rope_problem seen = *p;
    rope_operands given = *o;
    read_positions_from(seen, given, &c.last);
    return apply<Correct>(&seen, &given, nullptr);
  };
  return info;
}
const RegisteredKernel counts_on{counts_on_info()};

// Wrong while two states are alive, also of equal problems.
int states_alive = 0;
KernelInfo two_alive_info() {
  KernelInfo info = table_info<Correct>("mutant_second_state_alive_table");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    ++states_alive;
    *state = &states_alive;
    return ROPE_OK;
  };
  info.release = [](void*) { --states_alive; };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    return turned(p, o, states_alive > 1);
  };
  return info;
}
const RegisteredKernel two_alive{two_alive_info()};

// Frees what states share with the first state that is released.
bool shared_is_there = false;
KernelInfo shared_info() {
  KernelInfo info = table_info<Correct>("mutant_release_drops_shared_table");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    shared_is_there = true;
    *state = &shared_is_there;
    return ROPE_OK;
  };
  info.release = [](void*) { shared_is_there = false; };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    return turned(p, o, !shared_is_there);
  };
  return info;
}
const RegisteredKernel shared{shared_info()};

// A control: one counted state for all problems, which holds nothing about a problem.
KernelInfo nothing_shared_info() {
  KernelInfo info = table_info<Correct>("control_counted_state_table");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    static std::atomic<int> users{0};
    ++users;
    *state = &users;
    return ROPE_OK;
  };
  info.release = [](void* state) { --*static_cast<std::atomic<int>*>(state); };
  return info;
}
const RegisteredKernel nothing_shared{nothing_shared_info()};

}  // namespace
}  // namespace ropewalk::mutants
