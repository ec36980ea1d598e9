// Errors in what a kernel remembers from one call to the next.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Repeats the first output of a state for ever: KernelBench and GPU MODE submissions. Seen by two
// calls on one state with other inputs or other positions.
struct FirstOutputs {
  explicit FirstOutputs(const rope_problem& p) {
    std::int64_t elements = 0;
    for (std::uint32_t i = 0; i < p.tensor_count; ++i)
      elements += p.batch * p.tokens * p.tensor[i].heads * p.tensor[i].head_dim;
    values.resize(static_cast<std::size_t>(elements));
  }
  bool known = false;
  std::vector<float> values;
};

std::int32_t apply_once(const rope_problem* p, const rope_operands* o, void* state) {
  auto& outputs = *static_cast<FirstOutputs*>(state);
  if (!outputs.known) apply<Correct>(p, o, nullptr);
  float* next = outputs.values.data();
  for_each_out_row(*p, *o, [&](float* row, const rope_tensor& s, auto...) {
    const auto bytes = static_cast<std::size_t>(s.head_dim) * sizeof(float);
    outputs.known ? std::memcpy(row, next, bytes) : std::memcpy(next, row, bytes);
    next += s.head_dim;
  });
  outputs.known = true;
  return ROPE_OK;
}

const auto first_output_kept = altered("mutant_first_output_kept_table", [](KernelInfo& info) {
  info = with_state<FirstOutputs>(info);
  info.apply = apply_once;
});

// Does nothing if the addresses are those of the previous call: also KernelBench. Seen by any
// property that compares an output, once two calls in a row have their memory in the same place.
const auto skipped = planted<Sees>("mutant_same_addresses_skipped_table", [](auto& p, auto& o) {
  static const void *last_in = nullptr, *last_out = nullptr;
  if (o.tensor[0].in == last_in && o.tensor[0].out == last_out) p.batch = 0;
  last_in = o.tensor[0].in;
  last_out = o.tensor[0].out;
});

// A cache of frequencies by rotary_dim alone, so a second model with another base gets the first
// one's frequencies (seen in released packages). Seen by agreement and decay, in a process that has
// run another base.
const auto by_rotary_dim = planted<Sees>("mutant_cached_by_rotary_dim_exact", [](auto& p, auto&) {
  constexpr std::int64_t largest = 512;  // largest rotary_dim / 2
  static double cache[largest + 1][largest];
  static bool known[largest + 1];
  const std::int64_t half = p.rotary_dim / 2;
  if (half > largest) return;
  if (!std::exchange(known[half], true)) std::copy_n(p.inv_freq, half, cache[half]);
  p.inv_freq = cache[half];
});

// A cache by rotary_dim and the second frequency, which tells the base. A model with scaled lower
// frequencies gets those of the unscaled model.
const auto by_second = planted<Sees>("mutant_cached_by_second_frequency_exact", [](auto& p, auto&) {
  static double cache[512];
  static std::int64_t known = 0;
  const std::int64_t half = p.rotary_dim / 2;
  if (half < 2 || half > std::ssize(cache)) return;
  if (std::exchange(known, half) != half || cache[1] != p.inv_freq[1])
    std::copy_n(p.inv_freq, half, cache);
  p.inv_freq = cache;
});

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
const auto sticks = planted<BaseSticks>("mutant_base_sticks_exact");

// Reads the scale from the problem that prepare saw, which is gone by then.
struct PreparedAt {
  explicit PreparedAt(const rope_problem& p) : problem(&p) {}
  const rope_problem* problem;
};
const RegisteredKernel problem_address_kept{remembering<PreparedAt>(
    "mutant_problem_address_kept_table",
    [](auto& p, auto&, const PreparedAt& at) { p.attention_scale = at.problem->attention_scale; })};

// Every 97th call is wrong, like a submission that behaves while it is watched. Seen by any
// property that makes enough calls.
const auto then = planted<Sees>("mutant_wrong_now_and_then_table", [](auto& p, auto&) {
  static int calls = 0;
  if (++calls % 97 == 0) p.operation = ROPE_TRANSPOSE - p.operation;
});

// Keeps the positions of a state's first call for ever, so decoding stands still.
struct KeptPositions : std::vector<std::int64_t> {
  explicit KeptPositions(const rope_problem& p) {
    reserve(static_cast<std::size_t>(p.batch * p.tokens));  // apply must not allocate
  }
};
template <bool (*keeps)(const rope_problem&, const rope_operands&)>
RegisteredKernel keeps_positions(const char* name) {
  return RegisteredKernel(
      remembering<KeptPositions>(name, [](auto& p, auto& o, KeptPositions& kept) {
        if (!keeps(p, o)) return;
        if (kept.empty())
          for_each_token(p, o, [&](const Token& token) { kept.push_back(token.position); });
        read_positions_from(p, o, kept.data());
      }));
}
bool always(const rope_problem&, const rope_operands&) {
  return true;
}
const RegisteredKernel kept_positions = keeps_positions<always>("mutant_positions_kept_exact");

// The same if all rows are at one position, as in a decode loop. Only history continues such a
// state.
bool at_one_position(const rope_problem& p, const rope_operands& o) {
  std::int64_t least = INT64_MAX, largest = INT64_MIN;
  for_each_token(p, o, [&](const Token& token) {
    least = std::min(least, token.position);
    largest = std::max(largest, token.position);
  });
  return least == largest;
}
const RegisteredKernel kept_step = keeps_positions<at_one_position>("mutant_step_kept_exact");

// Keeps the cosines of a state's first call. A caller that gathers the rows of each step gets the
// old ones. Seen by properties that compare two calls with a table by token.
struct KeptRow {
  explicit KeptRow(const rope_problem& p) {
    if (p.table_rows > 1 && p.table_row_stride < 1 << 20)
      cos.resize(
          static_cast<std::size_t>((p.table_rows - 1) * p.table_row_stride + p.rotary_dim / 2));
  }
  bool known = false;
  std::vector<float> cos;
};
const RegisteredKernel row_kept{
    remembering<KeptRow>("mutant_gathered_rows_kept_table", [](auto& p, auto& o, KeptRow& kept) {
      const auto* given = static_cast<const float*>(o.tensor[0].cos);
      if (p.table_rows_by != ROPE_ROW_BY_TOKEN || kept.cos.empty() || given == nullptr) return;
      if (!kept.known) std::copy_n(given, kept.cos.size(), kept.cos.begin());
      kept.known = true;
      for (auto& tensor : o.tensor)
        if (tensor.cos == given) tensor.cos = kept.cos.data();
    })};

// Finds a row of angles by the state's address and the position. A state at the address of a freed
// one gets its angles. Only history frees one state before it makes the next.
struct FrequenciesInState {
  double unused[8];
};
const RegisteredKernel found_by_address{remembering<FrequenciesInState>(
    "mutant_found_by_state_address_exact", [](auto& p, auto&, FrequenciesInState& state) {
      static const void* known = nullptr;
      static double of_known[2], seen[1024];
      const std::int64_t half = p.rotary_dim / 2;
      if (half < 2 || half > std::ssize(seen)) return;
      if (known != &state) std::copy_n(p.inv_freq, 2, of_known);
      known = &state;
      std::copy_n(p.inv_freq, half, seen);
      std::copy_n(of_known, 2, seen);
      p.inv_freq = seen;
    })};

// ---- caches whose key is less than what the result depends on

// The positions of a call, and those whose rotation is kept.
using Positions = std::vector<std::int64_t>;
struct KeptAngles {
  explicit KeptAngles(const rope_problem& p) {
    for (Positions* list : {&kept, &now})
      list->reserve(static_cast<std::size_t>(p.batch * p.tokens));
  }
  Positions kept, now;
};
template <bool (*equal)(const Positions&, const Positions&)>
RegisteredKernel cached_by(const char* name) {
  return RegisteredKernel(remembering<KeptAngles>(name, [](auto& p, auto& o, KeptAngles& angles) {
    angles.now.clear();
    for_each_token(p, o, [&](const Token& token) { angles.now.push_back(token.position); });
    if (angles.kept.empty() || !equal(angles.now, angles.kept)) angles.kept.swap(angles.now);
    read_positions_from(p, o, angles.kept.data());
  }));
}

bool equal_in_first_16(const Positions& a, const Positions& b) {
  return std::equal(a.begin(), a.begin() + std::min<std::ptrdiff_t>(std::ssize(a), 16), b.begin());
}
bool equal_in_last_8(const Positions& a, const Positions& b) {
  return std::equal(a.end() - std::min<std::ptrdiff_t>(std::ssize(a), 8), a.end(),
                    b.end() - std::min<std::ptrdiff_t>(std::ssize(b), 8));
}
bool equal_in_all(const Positions& a, const Positions& b) {
  return a == b;
}
const RegisteredKernel by_first_16 = cached_by<equal_in_first_16>("mutant_cache_by_first_16_exact"),
                       by_last_8 = cached_by<equal_in_last_8>("mutant_cache_by_last_8_exact"),
                       by_all = cached_by<equal_in_all>("control_cache_by_all_positions_exact");

// Keeps the table's row while its address and the position stay and, if it looks, also the ends of
// the row.
struct RowInState {
  explicit RowInState(const rope_problem& p) : cos(static_cast<std::size_t>(p.rotary_dim / 2)) {
    sin = cos;
  }
  const void* at = nullptr;
  std::int32_t position = 0;
  std::vector<float> cos, sin;
};
template <bool looks_at_ends>
void keep_row(rope_problem& p, rope_operands& o, RowInState& kept) {
  if (!(p.batch * p.tokens == 1 && p.position_dtype == ROPE_I32 && o.positions != nullptr) ||
      p.table_rows_by != ROPE_ROW_BY_POSITION || p.tensor_count > 1 || o.tensor[0].cos == nullptr)
    return;
  const std::int32_t position = *static_cast<const std::int32_t*>(o.positions);
  const auto row = p.table_rows == 1 ? 0 : position * p.table_row_stride;
  const float* const cos = static_cast<const float*>(o.tensor[0].cos) + row;
  const float* const sin = static_cast<const float*>(o.tensor[0].sin) + row;
  const bool changed =
      looks_at_ends && (sin[0] != kept.sin[0] || sin[kept.sin.size() - 1] != kept.sin.back());
  if (kept.at != o.tensor[0].cos || kept.position != position || changed) {
    std::copy_n(cos, kept.cos.size(), kept.cos.begin());
    std::copy_n(sin, kept.sin.size(), kept.sin.begin());
  }
  kept.at = o.tensor[0].cos;
  kept.position = position;
  p.table_rows = 1;
  o.tensor[0].cos = kept.cos.data();
  o.tensor[0].sin = kept.sin.data();
}
template <bool looks_at_ends>
RegisteredKernel keeps_row(const char* name) {
  return RegisteredKernel(remembering<RowInState>(
      name, [](auto& p, auto& o, RowInState& kept) { keep_row<looks_at_ends>(p, o, kept); }));
}
const RegisteredKernel by_address = keeps_row<false>("mutant_row_kept_by_address_table"),
                       by_ends = keeps_row<true>("mutant_row_kept_by_its_ends_table");

}  // namespace
}  // namespace ropewalk::mutants
