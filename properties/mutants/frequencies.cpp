// Errors in the angle itself: its frequency, its precision, its direction.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// inv_freq cast to bf16 with the model's weights: transformers #25681 and #29496, gpt-neox #1003.
// The result is a rotation by other angles. Seen by agreement, position_sweep and decay, while
// relative_position, norm and transpose hold.
const auto bf16 = planted<Frequency>("mutant_frequency_in_bf16_exact", [](auto& p, std::int64_t i) {
  return double{to_bf16(static_cast<float>(p.inv_freq[i]))};
});

// theta^(-2(i-1)/d): llama-from-scratch #8. Seen by agreement, position_sweep and decay. A head of
// one pair is right.
const auto one =
    planted<Frequency>("mutant_exponent_off_by_one_exact", [](auto& p, std::int64_t i) {
      if (i > 0) return p.inv_freq[i - 1];
      return p.rotary_dim > 2 ? 1 / p.inv_freq[1] : p.inv_freq[0];
    });

// Every frequency is slightly off, like those of a base that is rounded to f32 twice: 2^-22
// relative. Seen by agreement and position_sweep at large positions, and by decay at large
// distances.
const auto hair =
    planted<Frequency>("mutant_frequency_off_by_a_hair_exact",
                       [](auto& p, std::int64_t i) { return p.inv_freq[i] * (1 + 0x1p-22); });

// Fast-math sin and cos reduce by 2 pi in one f32 term: kekzl/imp #1316 and #1325, 1e-2 off at
// position 131,071. Seen by agreement and position_sweep, and by relative_position and decay at
// large positions.
const auto reduction = planted<Rotation>(
    "mutant_one_term_reduction_exact", [](double frequency, std::int64_t position) -> CosSin {
      constexpr float turn = 6.2831855f;
      const auto angle = static_cast<float>(static_cast<double>(position) * frequency);
      const float rest = angle - std::nearbyint(angle / turn) * turn;
      return {std::cos(double{rest}), std::sin(double{rest})};
    });

// cos and sin cached in bf16: modded-nanogpt #39, FlashInfer PR 585. Seen by norm,
// relative_position, transpose, decay, agreement.
struct TableInBf16 : Correct {
  float entry(float value) override { return to_bf16(value); }
};
const auto in_bf16 = planted<TableInBf16>("mutant_table_in_bf16_table");

// Turns in the opposite direction: nanochat PR 489. norm, relative_position, transpose and
// identity_at_zero hold, because R(-m) is a rotation too. Only the contract fixes the direction.
// Seen by agreement and position_sweep. decay must see it too, since the imaginary part of a prefix
// sum changes its sign.
const auto wrong_way = planted<WrongWhen>("mutant_wrong_way_table", [](auto&) { return true; });

// The backward pass is the forward pass: apex PR 1750, flash-attention PR 569. Seen by transpose
// and agreement.
const auto to_forward = [](auto& p, auto&) { p.operation = ROPE_FORWARD; };
const auto forward_table = planted<Sees>("mutant_backward_is_forward_table", to_forward);
const auto forward_exact = planted<Sees>("mutant_backward_is_forward_exact", to_forward);

// A cache of the process, with a key of the number of frequencies, the first, the middle and the
// last one. Seen by history.
const auto by_three = planted<Sees>("mutant_frequencies_kept_by_three_exact", [](auto& p, auto&) {
  static double kept[600];
  static std::int64_t count = 0;
  const std::int64_t half = p.rotary_dim / 2;
  const auto* f = p.inv_freq;
  if (half > std::ssize(kept)) return;
  const bool known = half == count && f[0] == kept[0] && f[half / 2] == kept[half / 2] &&
                     f[half - 1] == kept[half - 1];
  if (!known) std::copy_n(f, half, kept);
  count = half;
  p.inv_freq = kept;
});

// Makes the angles of the frequencies it is told, correctly, in place of reading the only table.
// Seen by agreement and history, where a table has other angles.
struct AnglesForTable : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    if (p.tensor_count > 1 || o.positions == nullptr) return;
    p.angle_source = ROPE_ANGLES_INV_FREQ;
    o.tensor[0].cos = o.tensor[0].sin = nullptr;
  }
};
const auto angles_for_table = altered<AnglesForTable>(
    "mutant_angles_for_the_only_table", [](KernelInfo& info) { info.workspace_bytes = row_bytes; });

}  // namespace
}  // namespace ropewalk::mutants
