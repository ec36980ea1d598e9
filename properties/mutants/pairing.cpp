// Errors in which elements form a pair, which table entry turns them, and which part of a head is
// rotated.
#include <bit>
#include <cmath>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Always uses one pairing: vLLM #49290, vllm-ascend #12765. Seen by agreement and the norm of a
// pair. relative_position and transpose hold, because it rotates other pairs.
const auto swapped = planted<Sees>("mutant_pairing_swapped_exact", [](auto& p, auto&) {
  p.pairing = p.pairing == ROPE_INTERLEAVED ? ROPE_HALF_SPLIT : ROPE_INTERLEAVED;
});

// Accepts interleaved data and rotates it as half_split: a kernel of one pairing that forgets to
// refuse the other. Only its interleaved rows may fail. half_split is right, history included.
const auto forgotten = planted<Sees>("mutant_other_pairing_forgotten_table",
                                     [](auto& p, auto&) { p.pairing = ROPE_HALF_SPLIT; });

// The same without code for interleaved data: interleaved calls crash, half_split calls are right.
const auto missing = planted<Sees>("mutant_other_pairing_missing_table", [](auto& p, auto& o) {
  if (p.pairing == ROPE_INTERLEAVED) o.tensor[0].out = nullptr;
});

// Repeats the row of cos for the other pairing (tile for repeat_interleave, or the reverse). So the
// two elements of a pair turn by different angles: xformers #779, vjepa2 PR 15, and Paddle's fused
// kernel in half-split layout.
const auto other_pairing = planted<Entries>("mutant_row_repeated_for_other_pairing_exact",
                                            [](auto& p, std::int64_t i) -> PairIndex {
                                              const std::int64_t half = p.rotary_dim / 2;
                                              if (p.pairing == ROPE_INTERLEAVED)
                                                return {2 * i % half, (2 * i + 1) % half};
                                              return {i / 2, (i + half) / 2};
                                            });

// Turns the last pair of a wide head by its neighbour's angle: a wrong tail that small heads never
// reach. Seen by agreement and decay at rotary_dim >= 64.
const auto head =
    planted<Entries>("mutant_last_pair_of_wide_head_table", [](auto& p, std::int64_t i) {
      const bool last = p.rotary_dim >= 64 && i == p.rotary_dim / 2 - 1;
      return last ? PairIndex{i - 1, i - 1} : PairIndex{i, i};
    });

// A buffer for 128 pairs: the rest of a head wider than 256 is copied. A copied pair keeps its
// length and every dot product.
const auto pairs = planted<Rotates>("mutant_room_for_128_pairs_table", [](const Pair& x) {
  if (x.i < 128) return Correct().rotate(x);
  x.out[x.at.first] = x.in[x.at.first];
  x.out[x.at.second] = x.in[x.at.second];
});

// Turns nothing, like a kernel with a table of ones. Every algebraic law of rotations holds.
// Seen only by agreement, position_sweep and decay.
const auto identity = planted<Rotates>("mutant_identity_table", [](const Pair& x) {
  x.out[x.at.first] = x.scale * x.in[x.at.first];
  x.out[x.at.second] = x.scale * x.in[x.at.second];
});

// Writes zeros, like a kernel that never ran on cleared memory. Seen by norm, identity_at_zero,
// transpose, agreement, while relative_position holds.
const auto zeros = planted<Rotates>(
    "mutant_zeros_table", [](const Pair& x) { x.out[x.at.first] = x.out[x.at.second] = 0; });

// ---- which part of a head is rotated

// Makes the window wider, and turns the new pairs by the window's own angles again.
struct Widened : Correct {
  std::int64_t given_pairs = 0;
  void widen(rope_problem& p, std::int64_t rotary_dim) {
    given_pairs = p.rotary_dim / 2;
    p.rotary_dim = rotary_dim;
  }
  PairIndex entries(const rope_problem&, std::int64_t i) override {
    return {i % given_pairs, i % given_pairs};
  }
};

bool all_fit(const rope_problem& p, std::int64_t rotary_dim) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    if (p.tensor[i].rotate != 0 && p.tensor[i].rotary_offset + rotary_dim > p.tensor[i].head_dim)
      return false;
  return true;
}

// Rotates the whole head: maxtext #4616, vLLM #43770. Seen by untouched_dims, and by agreement in
// half-split.
struct WholeHead : Widened {
  void see(rope_problem& p, rope_operands&) override {
    const std::int64_t whole = p.tensor[0].head_dim / 2 * 2;
    for (rope_tensor& s : p.tensor) s.rotary_offset = 0;
    widen(p, whole >= p.rotary_dim && all_fit(p, whole) ? whole : p.rotary_dim);
  }
};
const auto whole = planted<WholeHead>("mutant_whole_head_table");

// Rounds rotary_dim up to a power of two without a mask: sglang #35096.
struct PowerOfTwo : Widened {
  void see(rope_problem& p, rope_operands&) override {
    const auto rounded =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.rotary_dim)));
    widen(p, all_fit(p, rounded) ? rounded : p.rotary_dim);
  }
};
const auto two = planted<PowerOfTwo>("mutant_power_of_two_table");

// Assumes that the window begins at 0.
const auto at_zero = planted<SeesEach>("mutant_window_at_zero_table",
                                       [](auto&, rope_tensor& s) { s.rotary_offset = 0; });

// Frequencies theta^(-2i/head_dim) for a smaller rotary_dim: pie PR 603. Seen by agreement and
// decay with partial rotary.
const auto dim =
    planted<Frequency>("mutant_frequencies_of_head_dim_exact", [](auto& p, std::int64_t i) {
      return std::pow(p.inv_freq[i], static_cast<double>(p.rotary_dim) /
                                         static_cast<double>(p.tensor[0].head_dim));
    });

// Writes only the window, which is right in place: several projects.
const auto written = planted<Sees>("mutant_untouched_never_written_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    rope_tensor& s = p.tensor[i];
    if (s.rotate == 0) continue;
    o.tensor[i].in = static_cast<const float*>(o.tensor[i].in) + s.rotary_offset;
    o.tensor[i].out = static_cast<float*>(o.tensor[i].out) + s.rotary_offset;
    s.rotary_offset = 0;
    s.head_dim = p.rotary_dim;
  }
});

// Rotates a tensor that should only be copied.
const auto tensors = planted<Sees>("mutant_rotates_all_tensors_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 1; i < p.tensor_count; ++i)
    if (rope_tensor& s = p.tensor[i]; s.rotate == 0 && s.head_dim >= p.rotary_dim) {
      s.rotate = 1;
      s.rotary_offset = 0;
      o.tensor[i].cos = o.tensor[0].cos;
      o.tensor[i].sin = o.tensor[0].sin;
    }
});

}  // namespace
}  // namespace ropewalk::mutants
