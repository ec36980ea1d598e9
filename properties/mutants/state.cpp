// Errors in what a kernel remembers from one call to the next.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Repeats the first output of a state for ever: KernelBench and GPU MODE submissions. Seen by two
// calls on one state with other inputs or other positions.
struct FirstOutputs {
  bool known = false;
  std::array<std::vector<float>, ROPE_MAX_TENSORS> values;
};

std::int32_t prepare_outputs(const rope_problem* p, void** state) {
  auto* outputs = new (std::nothrow) FirstOutputs;
  *state = outputs;
  for (std::uint32_t i = 0; outputs != nullptr && i < p->tensor_count; ++i)
    outputs->values[i].resize(static_cast<std::size_t>(p->batch * p->tokens * p->tensor[i].heads *
                                                       p->tensor[i].head_dim));
  return outputs != nullptr ? ROPE_OK : ROPE_FAILED;
}

template <class Visit>
void for_each_out_row(const rope_problem& p, const rope_operands& o, FirstOutputs& outputs,
                      Visit&& visit) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    float* next = outputs.values[i].data();
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t t = 0; t < p.tokens; ++t)
        for (std::int64_t h = 0; h < p.tensor[i].heads; ++h, next += p.tensor[i].head_dim)
          visit(out_row(p, o, i, b, t, h), next,
                static_cast<std::size_t>(p.tensor[i].head_dim) * sizeof(float));
  }
}

std::int32_t apply_once(const rope_problem* p, const rope_operands* o, void* state) {
  auto& outputs = *static_cast<FirstOutputs*>(state);
  if (outputs.known) {
    for_each_out_row(*p, *o, outputs, [](float* row, const float* first, std::size_t bytes) {
      std::memcpy(row, first, bytes);
    });
    return ROPE_OK;
  }
  outputs.known = true;
  const std::int32_t answer = apply<Correct>(p, o, nullptr);
  for_each_out_row(*p, *o, outputs, [](const float* row, float* first, std::size_t bytes) {
    std::memcpy(first, row, bytes);
  });
  return answer;
}

KernelInfo first_output_info() {
  KernelInfo info = table_info<Correct>("mutant_first_output_kept_table");
  info.prepare = prepare_outputs;
  info.apply = apply_once;
  info.release = [](void* state) { delete static_cast<FirstOutputs*>(state); };
  return info;
}
const RegisteredKernel first_output_kept{first_output_info()};

// Does nothing if the addresses are those of the previous call: also KernelBench. Seen by any
// property that compares an output, once two calls in a row have their memory in the same place.
struct SameAddressesSkipped : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    static const void *last_in = nullptr, *last_out = nullptr;
    if (o.tensor[0].in == last_in && o.tensor[0].out == last_out) p.batch = 0;
    last_in = o.tensor[0].in;
    last_out = o.tensor[0].out;
  }
};
const RegisteredKernel same_addresses_skipped =
    on_table<SameAddressesSkipped>("mutant_same_addresses_skipped_table");

// A cache of frequencies by rotary_dim alone, so a second model with another base gets the first
// one's frequencies (seen in released packages). Seen by agreement and decay, in a process that has
// run another base.
struct CachedByRotaryDim : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    constexpr std::int64_t largest = 512;  // largest rotary_dim / 2
    static double cache[largest + 1][largest];
    static bool known[largest + 1];
    const std::int64_t half = p.rotary_dim / 2;
    if (half > largest) return p.inv_freq[i];
    if (!known[half]) std::copy_n(p.inv_freq, half, cache[half]);
    known[half] = true;
    return cache[half][i];
  }
};
const RegisteredKernel cached_by_rotary_dim =
    on_angles<CachedByRotaryDim>("mutant_cached_by_rotary_dim_exact");

// A cache by rotary_dim and the second frequency, which tells the base. A model with scaled lower
// frequencies gets those of the unscaled model. Seen by history.
struct CachedBySecond : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    constexpr std::int64_t largest = 512;  // largest rotary_dim / 2
    static double cache[largest];
    static std::int64_t known = 0;
    const std::int64_t half = p.rotary_dim / 2;
    if (half < 2 || half > largest) return p.inv_freq[i];
    if (known != half || cache[1] != p.inv_freq[1]) std::copy_n(p.inv_freq, half, cache);
    known = half;
    return cache[i];
  }
};
const RegisteredKernel cached_by_second =
    on_angles<CachedBySecond>("mutant_cached_by_second_frequency_exact");

// A long input changes the base for all later short inputs too: transformers PR 27227. Seen by
// agreement and decay, in a process that has run a long input.
struct BaseSticks : Correct {
  bool stretched = false;
  void see(rope_problem& p, rope_operands&) override {
    static bool met_long_input = false;
    stretched = met_long_input;
    met_long_input = met_long_input || p.max_position > 100'000;
  }
  double frequency(const rope_problem& p, std::int64_t i) override {
    return stretched ? p.inv_freq[i] / 2 : p.inv_freq[i];
  }
};
const RegisteredKernel base_sticks = on_angles<BaseSticks>("mutant_base_sticks_exact");

// Reads the scale from the problem that prepare saw, which is gone by then. Seen by norm,
// agreement, transpose.
std::int32_t apply_stale(const rope_problem* p, const rope_operands* o, void* state) {
  rope_problem copy = *p;
  copy.attention_scale = static_cast<const rope_problem*>(state)->attention_scale;
  Correct hooks;
  return run(hooks, copy, *o);
}

KernelInfo stale_info() {
  KernelInfo info = table_info<Correct>("mutant_problem_address_kept_table");
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    *state = const_cast<rope_problem*>(p);
    return ROPE_OK;
  };
  info.apply = apply_stale;
  return info;
}
const RegisteredKernel problem_address_kept{stale_info()};

// Every 97th call is wrong, like a submission that behaves while it is watched. Seen by any
// property that makes enough calls.
struct WrongNowAndThen : Correct {
  void see(rope_problem& p, rope_operands&) override {
    static int calls = 0;
    if (++calls % 97 == 0) p.operation = ROPE_TRANSPOSE - p.operation;
  }
};
const RegisteredKernel wrong_now_and_then =
    on_table<WrongNowAndThen>("mutant_wrong_now_and_then_table");

// A race, simulated by a generator: one pair in 200 keeps its input. vLLM PR 48872, Megatron PR
// 5980. Seen by agreement and position_sweep.
struct RacedPairs : Correct {
  void rotate(const Pair& x) override {
    static std::uint32_t luck = 1;
    luck = luck * 1664525u + 1013904223u;
    Correct::rotate(x);
    if (luck >> 16 < 65536 / 200) x.out[x.at.first] = x.in[x.at.first];
  }
};
const RegisteredKernel raced_pairs = on_table<RacedPairs>("mutant_raced_pairs_table");

// Keeps the positions of a state's first call for ever, so decoding stands still. Seen by
// agreement.
struct KeptPositions {
  std::vector<std::int64_t> values;
};
std::int32_t apply_kept_positions(const rope_problem* asked, const rope_operands* given,
                                  void* state) {
  auto& kept = static_cast<KeptPositions*>(state)->values;
  if (kept.empty())
    for_each_token(*asked, *given, [&](const Token& token) { kept.push_back(token.position); });
  rope_problem p = *asked;
  rope_operands o = *given;
  read_positions_from(p, o, kept.data());
  return apply<Correct>(&p, &o, nullptr);
}
KernelInfo kept_positions_info(const char* name) {
  KernelInfo info = angles_info<Correct>(name);
  info.apply = apply_kept_positions;
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    auto* kept = new KeptPositions;
    kept->values.reserve(
        static_cast<std::size_t>(p->batch * p->tokens));  // apply must not allocate
    *state = kept;
    return ROPE_OK;
  };
  info.release = [](void* state) { delete static_cast<KeptPositions*>(state); };
  return info;
}
const RegisteredKernel kept_positions{kept_positions_info("mutant_positions_kept_exact")};

// The same if all rows are at one position, as in a decode loop. Only history continues such a
// state.
KernelInfo kept_step_info() {
  KernelInfo info = kept_positions_info("mutant_step_kept_exact");
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    std::int64_t least = INT64_MAX, largest = INT64_MIN;
    for_each_token(*p, *o, [&](const Token& token) {
      least = std::min(least, token.position);
      largest = std::max(largest, token.position);
    });
    return least == largest ? apply_kept_positions(p, o, state) : apply<Correct>(p, o, nullptr);
  };
  return info;
}
const RegisteredKernel kept_step{kept_step_info()};

// Keeps the cosines of a state's first call. A caller that gathers the rows of each step gets the
// old ones. Seen by properties that compare two calls with a table by token.
struct KeptRow {
  bool known = false;
  std::vector<float> cos;
};
struct RowKept : Correct {
  KeptRow* kept = nullptr;
  void see(rope_problem& p, rope_operands& o) override {
    const auto* given = static_cast<const float*>(o.tensor[0].cos);
    if (p.table_rows_by != ROPE_ROW_BY_TOKEN || kept->cos.empty() || given == nullptr) return;
    if (!kept->known) std::copy_n(given, kept->cos.size(), kept->cos.begin());
    kept->known = true;
    for (std::uint32_t i = 0; i < p.tensor_count; ++i)
      if (o.tensor[i].cos == given) o.tensor[i].cos = kept->cos.data();
  }
};
KernelInfo row_kept_info() {
  KernelInfo info = table_info<Correct>("mutant_gathered_rows_kept_table");
  info.prepare = [](const rope_problem* p, void** state) -> std::int32_t {
    auto* kept = new KeptRow;
    if (p->table_rows > 1 && p->table_row_stride < 1 << 20)
      kept->cos.resize(
          static_cast<std::size_t>((p->table_rows - 1) * p->table_row_stride + p->rotary_dim / 2));
    *state = kept;
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    RowKept hooks;
    hooks.kept = static_cast<KeptRow*>(state);
    return run(hooks, *p, *o);
  };
  info.release = [](void* state) { delete static_cast<KeptRow*>(state); };
  return info;
}
const RegisteredKernel row_kept{row_kept_info()};

// Finds a row of angles by the state's address and the position. A state at the address of a freed
// one gets its angles. Only history frees one state before it makes the next.
struct FoundByAddress : Correct {
  const void* state = nullptr;
  double frequency(const rope_problem& p, std::int64_t i) override {
    static const void* known = nullptr;
    static double of_known[2];
    if (i > 1 || p.rotary_dim < 4) return p.inv_freq[i];
    if (known != state) std::copy_n(p.inv_freq, 2, of_known);
    known = state;
    return of_known[i];
  }
};
KernelInfo found_by_address_info() {
  KernelInfo info = angles_info<Correct>("mutant_found_by_state_address_exact");
  info.prepare = [](const rope_problem*, void** state) -> std::int32_t {
    *state = new double[8];
    return ROPE_OK;
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void* state) {
    FoundByAddress hooks;
    hooks.state = state;
    return run(hooks, *p, *o);
  };
  info.release = [](void* state) { delete[] static_cast<double*>(state); };
  return info;
}
const RegisteredKernel found_by_address{found_by_address_info()};

}  // namespace
}  // namespace ropewalk::mutants
