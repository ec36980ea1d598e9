// Errors that need a history: a third call, a second state, a release, thousands of calls. Also
// correct kernels that keep much.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <utility>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Turns in the opposite direction if `wrong`, which every property finds.
void turn_back_if(bool wrong, rope_problem& p) {
  if (wrong) p.operation = ROPE_TRANSPOSE - p.operation;
}

struct Counted {
  std::int64_t calls = 0;
};
// The third call on a state is wrong. A suite that makes two calls a state never finds it.
const RegisteredKernel third_call{remembering<Counted>(
    "mutant_third_call_table",
    [](auto& p, auto&, Counted& state) { turn_back_if(++state.calls == 3, p); })};

// A count of calls that takes 65,536 for none.
const RegisteredKernel sixteen_bits{remembering<Counted>(
    "mutant_on_call_65536_table",
    [](auto& p, auto&, Counted& state) { turn_back_if(++state.calls % 65536 == 0, p); })};

// What a state holds of a call with one token, whose position it turns by ever after.
struct Held {
  std::int64_t calls = 0;
  std::int32_t position = 0;
  const void* positions = nullptr;
};
bool has_one_position(const rope_problem& p, const rope_operands& o) {
  return p.batch * p.tokens == 1 && p.position_dtype == ROPE_I32 && o.positions != nullptr;
}
std::int32_t only_position(const rope_operands& o) {
  return *static_cast<const std::int32_t*>(o.positions);
}

// From the seventh call with positions at one address on, the position of the sixth: what a graph
// that was captured then would replay.
const RegisteredKernel captured{
    remembering<Held>("mutant_position_of_call_6_table", [](auto& p, auto& o, Held& held) {
      if (!has_one_position(p, o)) return;
      held.calls = o.positions == held.positions ? held.calls + 1 : 1;
      held.positions = o.positions;
      if (held.calls <= 6) held.position = only_position(o);
      o.positions = &held.position;
    })};

// Positions end at the largest of the first three calls, or at 4,096: a table that grew once.
const RegisteredKernel grown_once{
    remembering<Held>("mutant_grown_once_table", [](auto& p, auto& o, Held& held) {
      static std::int32_t position;
      if (!has_one_position(p, o)) return;
      if (++held.calls <= 3) held.position = std::max({held.position, only_position(o), 4096});
      position = std::min(only_position(o), held.position);
      o.positions = &position;
    })};

// A state whose first call held zeros alone only copies ever after: what that call measured is kept
// as the scale of all.
struct Measured {
  bool begun = false, zeros = false;
};
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
const RegisteredKernel first_of_zeros{
    remembering<Measured>("mutant_scale_of_zeros_table", [](auto& p, auto& o, Measured& seen) {
      if (!std::exchange(seen.begun, true)) seen.zeros = holds_zeros(p, o);
      if (seen.zeros)
        for (rope_tensor& t : p.tensor) t.rotate = 0;
    })};

// The first call of a process chooses the code of all: if it is a decode step, later ones have one
// position a batch row.
const auto process = planted<Sees>("mutant_chosen_by_decode_of_process_table", [](auto& p, auto&) {
  static const bool is_decode = p.tokens == 1;
  if (is_decode) p.position_token_stride = 0;
});

// If it is in place with gaps between its rows, later calls read their input where they write.
const auto call_1 = planted<Sees>("mutant_chosen_by_gaps_of_call_1_table", [](auto& p, auto& o) {
  const rope_tensor& t = p.tensor[0];
  static const bool has_gaps =
      t.in_place != 0 && p.tokens > 1 && t.in_token_stride > t.heads * t.head_dim;
  if (has_gaps) read_from_output(p, o, 0);
});

// The sign of sin for the backward pass is there from the second call of a process on.
const auto of_process =
    planted<Sees>("mutant_backward_call_1_of_process_table", [](auto& p, auto&) {
      static bool is_known = false;
      if (!std::exchange(is_known, true)) p.operation = ROPE_FORWARD;
    });

// Correct outputs, and a misdeed in every hundredth call on a state.
template <void (*misdeed)()>
KernelInfo on_hundredth_call(const char* name) {
  using Calls = std::atomic<std::int64_t>;
  KernelInfo info = remembering<Calls>(name, [](auto&, auto&, Calls& calls) {
    if (++calls % 100 == 0) misdeed();
  });
  info.flags |= ROPE_THREAD_SAFE;
  return info;
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

// One state for all problems, which is right while only one is alive.
struct OnlyState {
  explicit OnlyState(const rope_problem& p) { prepared = p; }
  static inline rope_problem prepared;
};
const RegisteredKernel one_state{
    remembering<OnlyState>("mutant_one_state_for_all_table", [](auto& p, auto&, OnlyState&) {
      p.operation = OnlyState::prepared.operation;
      p.attention_scale = OnlyState::prepared.attention_scale;
    })};

// A state takes what it needs at its first call, from the problem that was prepared last.
struct Late {
  explicit Late(const rope_problem& p) { last_prepared = p.attention_scale; }
  static inline double last_prepared = 0;
  bool begun = false;
  double scale = 0;
};
const RegisteredKernel taken_late{
    remembering<Late>("mutant_state_made_at_first_call_table", [](auto& p, auto&, Late& late) {
      if (!std::exchange(late.begun, true)) late.scale = Late::last_prepared;
      p.attention_scale = late.scale;
    })};

// A prompt of a state that has had one goes on where 32 and more steps of others have ended.
struct Prompted {
  std::int64_t steps = -1;  ///< of the process at the last prompt
};
std::int64_t steps_of_process = 0, end_of_steps = 0;
const RegisteredKernel second_prompt{remembering<Prompted>(
    "mutant_second_prompt_goes_on_exact", [](auto& p, auto& o, Prompted& prompted) {
      const std::int64_t since = steps_of_process - prompted.steps;
      const bool goes_on = prompted.steps >= 0 && since >= 32 && since < 200;
      if (p.batch * p.tokens == 1) {
        ++steps_of_process;
        for_each_token(p, o, [](const Token& token) { end_of_steps = token.position; });
      } else if (p.tokens >= 64) {
        prompted.steps = steps_of_process;
        if (goes_on) {
          read_positions_from(p, o, &end_of_steps);
          p.position_token_stride = p.position_batch_stride = 0;
        }
      }
    })};

// After 25 steps, each one position on, a state no longer reads its position.
struct Counting {
  std::int64_t steps = 0, last = -2;
};
const RegisteredKernel counts_on{remembering<Counting>(
    "mutant_counts_on_after_25_steps_exact", [](auto& p, auto& o, Counting& c) {
      if (p.batch * p.tokens != 1) return;
      std::int64_t now = 0;
      for_each_token(p, o, [&](const Token& token) { now = token.position; });
      c.steps = c.steps >= 25 || now == c.last + 1 ? c.steps + 1 : 0;
      c.last = c.steps > 25 ? c.last + 1 : now;
      read_positions_from(p, o, &c.last);
    })};

// Frees what states share with the first state that is released.
struct Sharing {
  Sharing() { is_there = true; }
  ~Sharing() { is_there = false; }
  static inline bool is_there = false;
};
const RegisteredKernel shared{
    remembering<Sharing>("mutant_release_drops_shared_table",
                         [](auto& p, auto&, Sharing&) { turn_back_if(!Sharing::is_there, p); })};

// A control: one counted state for all problems, which holds nothing about a problem.
const auto nothing_shared = altered("control_counted_state_table", [](KernelInfo& info) {
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    static std::atomic<int> users{0};
    ++users;
    *state = &users;
    return ROPE_OK;
  };
  info.release = [](void* state) { --*static_cast<std::atomic<int>*>(state); };
});

}  // namespace
}  // namespace ropewalk::mutants
