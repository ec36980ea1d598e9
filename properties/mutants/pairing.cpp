// Errors in which elements form a pair, and in which table entry turns them.
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
// kernel in half-split layout. Seen by norm, relative_position, transpose, agreement.
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

// A buffer for 128 pairs: the rest of a head wider than 256 is copied. Seen by agreement and decay.
// A copied pair keeps its length and every dot product.
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

}  // namespace
}  // namespace ropewalk::mutants
