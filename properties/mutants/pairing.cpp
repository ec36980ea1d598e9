// Errors in which elements form a pair, and in which table entry turns them.
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Always uses one pairing: vLLM #49290, vllm-ascend #12765. Seen by agreement and the norm of a
// pair. relative_position and transpose hold, because it rotates other pairs.
struct PairingSwapped : Correct {
  void see(rope_problem& p, rope_operands&) override {
    p.pairing = p.pairing == ROPE_INTERLEAVED ? ROPE_HALF_SPLIT : ROPE_INTERLEAVED;
  }
};
const RegisteredKernel pairing_swapped_table =
    on_table<PairingSwapped>("mutant_pairing_swapped_table");
const RegisteredKernel pairing_swapped_exact =
    on_angles<PairingSwapped>("mutant_pairing_swapped_exact");

// Accepts interleaved data and rotates it as half_split: a kernel of one pairing that forgets to
// refuse the other. Only its interleaved rows may fail. half_split is right, history included.
struct OtherPairingForgotten : Correct {
  void see(rope_problem& p, rope_operands&) override { p.pairing = ROPE_HALF_SPLIT; }
};
const RegisteredKernel other_pairing_forgotten =
    on_table<OtherPairingForgotten>("mutant_other_pairing_forgotten_table");

// The same without code for interleaved data: interleaved calls crash, half_split calls are right.
struct OtherPairingMissing : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    if (p.pairing == ROPE_INTERLEAVED) o.tensor[0].out = nullptr;
  }
};
const RegisteredKernel other_pairing_missing =
    on_table<OtherPairingMissing>("mutant_other_pairing_missing_table");

// Repeats the row of cos for the other pairing (tile for repeat_interleave, or the reverse). So the
// two elements of a pair turn by different angles: xformers #779, vjepa2 PR 15, and Paddle's fused
// kernel in half-split layout. Seen by norm, relative_position, transpose, agreement.
struct RowRepeatedForOtherPairing : Correct {
  PairIndex entries(const rope_problem& p, std::int64_t i) override {
    const std::int64_t half = p.rotary_dim / 2;
    if (p.pairing == ROPE_INTERLEAVED) return {2 * i % half, (2 * i + 1) % half};
    return {i / 2, (i + half) / 2};
  }
};
const RegisteredKernel row_repeated_table =
    on_table<RowRepeatedForOtherPairing>("mutant_row_repeated_for_other_pairing_table");
const RegisteredKernel row_repeated_exact =
    on_angles<RowRepeatedForOtherPairing>("mutant_row_repeated_for_other_pairing_exact");

// Turns the last pair of a wide head by its neighbour's angle: a wrong tail that small heads never
// reach. Seen by agreement and decay at rotary_dim >= 64.
struct LastPairOfWideHead : Correct {
  PairIndex entries(const rope_problem& p, std::int64_t i) override {
    const bool last = p.rotary_dim >= 64 && i == p.rotary_dim / 2 - 1;
    return last ? PairIndex{i - 1, i - 1} : PairIndex{i, i};
  }
};
// A table of a fixed number of columns: pairs beyond it take the column before. This happens at
// widths of a few models, which are no power of two. Seen by sizes.
struct ColumnBeyond220 : Correct {
  PairIndex entries(const rope_problem& p, std::int64_t i) override {
    const std::int64_t half = p.rotary_dim / 2;
    const bool beyond = i >= 220 && half % 64 != 0;
    return beyond ? PairIndex{i - 1, i - 1} : PairIndex{i, i};
  }
};
const RegisteredKernel column_beyond_220_table =
    on_table<ColumnBeyond220>("mutant_column_beyond_220_table");
const RegisteredKernel column_beyond_220_exact =
    on_angles<ColumnBeyond220>("mutant_column_beyond_220_exact");

const RegisteredKernel last_pair_of_wide_head_table =
    on_table<LastPairOfWideHead>("mutant_last_pair_of_wide_head_table");
const RegisteredKernel last_pair_of_wide_head_exact =
    on_angles<LastPairOfWideHead>("mutant_last_pair_of_wide_head_exact");

// A buffer for 128 pairs: the rest of a head wider than 256 is copied. Seen by agreement and decay.
// A copied pair keeps its length and every dot product.
struct RoomFor128Pairs : Correct {
  void rotate(const Pair& x) override {
    if (x.i < 128) return Correct::rotate(x);
    x.out[x.at.first] = x.in[x.at.first];
    x.out[x.at.second] = x.in[x.at.second];
  }
};
const RegisteredKernel room_for_128_pairs =
    on_table<RoomFor128Pairs>("mutant_room_for_128_pairs_table");

// Turns nothing, like a kernel with a table of ones. Every algebraic law of rotations holds.
// Seen only by agreement, position_sweep and decay.
struct Identity : Correct {
  void rotate(const Pair& x) override {
    x.out[x.at.first] = x.scale * x.in[x.at.first];
    x.out[x.at.second] = x.scale * x.in[x.at.second];
  }
};
const RegisteredKernel identity_table = on_table<Identity>("mutant_identity_table");
const RegisteredKernel identity_exact = on_angles<Identity>("mutant_identity_exact");

// Writes zeros, like a kernel that never ran on cleared memory. Seen by norm, identity_at_zero,
// transpose, agreement, while relative_position holds.
struct Zeros : Correct {
  void rotate(const Pair& x) override { x.out[x.at.first] = x.out[x.at.second] = 0; }
};
const RegisteredKernel zeros = on_table<Zeros>("mutant_zeros_table");

}  // namespace
}  // namespace ropewalk::mutants
