// Kernels that break their promise of ROPE_THREAD_SAFE: each is right while only one call at a time
// is made. One that shares large calls out wrongly. Also correct kernels: one with memory of
// its own for every thread, one that shares calls out.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

template <class Hooks>
KernelInfo promised(const char* name) {
  KernelInfo info = info_of<Hooks>(name);
  info.flags |= ROPE_THREAD_SAFE;
  return info;
}

// Every result passes through one static buffer of the kernel.
struct StaticScratch : Correct {
  void rotate(const Pair& x) override {
    static volatile float scratch[2];
    through(x, scratch);
  }
  static void through(const Pair& x, volatile float* scratch) {
    scratch[0] = x.scale * (x.in[x.at.first] * x.cos1 - x.in[x.at.second] * x.sin1);
    scratch[1] = x.scale * (x.in[x.at.second] * x.cos2 + x.in[x.at.first] * x.sin2);
    x.out[x.at.first] = scratch[0];
    x.out[x.at.second] = scratch[1];
  }
};
const RegisteredKernel static_scratch{promised<StaticScratch>("mutant_static_scratch_table")};

// The same on one path only: in vectors of eight pairs or more, or in a decode step.
template <bool (*met)(const rope_problem&)>
struct StaticScratchWhere : StaticScratch {
  bool is_met = false;
  void see(rope_problem& p, rope_operands&) override { is_met = met(p); }
  void rotate(const Pair& x) override {
    is_met ? StaticScratch::rotate(x) : Correct::rotate(x);  // NOLINT: the error must not be met
  }
};
bool is_wide(const rope_problem& p) {
  return p.pairing == ROPE_HALF_SPLIT && p.rotary_dim >= 16;
}
bool is_backward(const rope_problem& p) {
  return p.operation == ROPE_TRANSPOSE;
}
bool is_decode(const rope_problem& p) {
  return p.tokens == 1;
}
const RegisteredKernel wide_static_scratch{
    promised<StaticScratchWhere<is_wide>>("mutant_wide_static_scratch_table")};
const RegisteredKernel decode_static_scratch{
    promised<StaticScratchWhere<is_decode>>("mutant_decode_static_scratch_table")};

// The first call of a process on a path makes what the path uses, and tells too early that it has.
// The paths: all calls, the backward pass, and that pass in place with several tokens.
template <bool (*met)(const rope_problem&)>
struct MadeLate : Correct {
  static inline std::atomic<bool> is_told{false};
  static inline std::atomic<float> made{0};
  bool is_met = false;
  void see(rope_problem& p, rope_operands&) override {
    is_met = met(p);
    if (!is_met || is_told.exchange(true)) return;
    // Longer than a busy machine keeps the second caller from its processor.
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    made = 1;
  }
  void rotate(const Pair& x) override {
    Pair mine = x;
    if (is_met) mine.scale *= made;
    Correct::rotate(mine);
  }
};
bool is_any(const rope_problem&) {
  return true;
}
bool is_form(const rope_problem& p) {
  return is_backward(p) && p.tensor[0].in_place != 0 && p.tokens > 1;
}
const RegisteredKernel made_late{promised<MadeLate<is_any>>("mutant_made_late_in_process_table")};
const RegisteredKernel backward_made_late{
    promised<MadeLate<is_backward>>("mutant_backward_made_late_in_process_table")};
const RegisteredKernel form_made_late{
    promised<MadeLate<is_form>>("mutant_form_made_late_in_process_table")};

// Keeps the row of the last position for all callers together.
struct LastPosition : Correct {
  static inline volatile std::int64_t known = -1, row = -1;
  virtual void copy_row() {
    for (volatile int copied = 0; copied < 64;) copied = copied + 1;
  }
  void locate(const rope_problem& p, Token& token) override {
    if (p.table_rows_by == ROPE_ROW_BY_TOKEN) return;
    if (known != token.position) {
      row = token.position;
      known = token.position;
    }
    copy_row();
    token.position = row;
    token.table_row = row;
  }
};
const RegisteredKernel last_position{promised<LastPosition>("mutant_shared_last_position_table")};

// The same in calls of one row alone, which let others run while they make the row.
struct RowOfDecode : LastPosition {
  void copy_row() override {
    for (int pair = 0; pair < 16; ++pair) std::this_thread::yield();
  }
  void locate(const rope_problem& p, Token& token) override {
    if (p.batch * p.tokens == 1) LastPosition::locate(p, token);
  }
};
const RegisteredKernel row_of_decode{promised<RowOfDecode>("mutant_shared_row_of_decode_table")};

// Keeps a head's scratch in the state, one for all calls on the state.
struct ThroughState : Correct {
  float* scratch = nullptr;
  std::int64_t pairs = 0;
  const rope_problem* problem = nullptr;
  void see(rope_problem& p, rope_operands&) override {
    problem = &p;
    pairs = p.rotary_dim / 2;
  }
  void rotate(const Pair& x) override {
    volatile float* const shared = scratch;
    shared[2 * x.i] = x.scale * (x.in[x.at.first] * x.cos1 - x.in[x.at.second] * x.sin1);
    shared[2 * x.i + 1] = x.scale * (x.in[x.at.second] * x.cos2 + x.in[x.at.first] * x.sin2);
    for (std::int64_t i = 0; x.i + 1 == pairs && i < pairs; ++i) {
      const PairIndex at = pair_index(problem->pairing, i, pairs);
      x.out[at.first] = shared[2 * i];
      x.out[at.second] = shared[2 * i + 1];
    }
  }
};
struct HeadScratch : std::vector<float> {
  explicit HeadScratch(const rope_problem& p) : vector(static_cast<std::size_t>(p.rotary_dim)) {}
};
const RegisteredKernel scratch_in_state{[] {
  KernelInfo info = with_state<HeadScratch>(promised<Correct>("mutant_scratch_in_state_table"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    ThroughState hooks;
    hooks.scratch = static_cast<HeadScratch*>(state)->data();
    return run(hooks, *p, *o);
  };
  return info;
}()};

// A lock in the state guards what belongs to the process: right with one state, wrong with two.
const RegisteredKernel locked_scratch{[] {
  KernelInfo info =
      with_state<std::mutex>(promised<StaticScratch>("mutant_scratch_locked_by_state_table"));
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    const std::lock_guard lock(*static_cast<std::mutex*>(state));
    return apply<StaticScratch>(p, o, nullptr);
  };
  return info;
}()};

// The process has one current direction and scale, which each call sets. States of one problem set
// what is there.
struct CurrentProblem : Correct {
  static inline volatile float scale = 1, sign = 1;
  void see(rope_problem& p, rope_operands&) override {
    scale = static_cast<float>(scale_of(p));
    sign = sign_of(p);
  }
  float sin_sign(const rope_problem&) override { return sign; }
  void rotate(const Pair& x) override {
    Pair seen = x;
    seen.scale = scale;
    Correct::rotate(seen);
  }
};
const RegisteredKernel current_problem{promised<CurrentProblem>("mutant_current_problem_table")};

// Set in the thread that prepares, and used in any thread that applies.
thread_local float sign_of_this_thread = 0;
struct PreparedThreadOnly : Correct {
  float sin_sign(const rope_problem& p) override {
    return sign_of_this_thread * Correct::sin_sign(p);
  }
};
const RegisteredKernel prepared_thread{[] {
  KernelInfo info = promised<PreparedThreadOnly>("mutant_prepared_thread_only_table");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    sign_of_this_thread = 1;
    *state = nullptr;
    return ROPE_OK;
  };
  return info;
}()};

// A control: each thread has scratch of its own.
struct ThreadScratch : Correct {
  void rotate(const Pair& x) override {
    static thread_local volatile float scratch[2];
    StaticScratch::through(x, scratch);
  }
};
const RegisteredKernel thread_scratch{promised<ThreadScratch>("control_thread_scratch_table")};

// Large calls are shared out, by tickets of 9 bits that a state counts. 0 stands for none, so with
// it the last token is nobody's.
const RegisteredKernel ticket{remembering<std::uint16_t>(
    "mutant_ticket_of_9_bits_table", [](auto& p, auto&, std::uint16_t& tickets) {
      const bool large = p.tokens >= 128 && p.tokens * p.tensor[0].heads * p.rotary_dim > 1 << 16;
      if (large && ++tickets % 512 == 0) --p.tokens;
    })};

// A control: a helper turns half of the heads, and ends with the call.
std::int32_t turn_half(rope_problem p, rope_operands o, bool second) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    rope_tensor& t = p.tensor[i];
    const std::int64_t half = t.heads / 2, skipped = second ? half : 0;
    o.tensor[i].in = static_cast<const float*>(o.tensor[i].in) + skipped * t.in_head_stride;
    o.tensor[i].out = static_cast<float*>(o.tensor[i].out) + skipped * t.out_head_stride;
    t.heads = second ? t.heads - half : half;
  }
  return apply<Correct>(&p, &o, nullptr);
}
const auto two_threads = altered("control_two_threads_table", [](KernelInfo& info) {
  info.exceptions = ROPE_USES_THREADS | ROPE_ALLOCATES;
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    std::thread helper([&] { turn_half(*p, *o, false); });
    const std::int32_t answer = turn_half(*p, *o, true);
    helper.join();
    return answer;
  };
});

}  // namespace
}  // namespace ropewalk::mutants
