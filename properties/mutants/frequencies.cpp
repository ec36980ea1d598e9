// Errors in the angle itself, its frequency, its precision, its direction; and in attention_scale.
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

// theta^(-2(i-1)/d): llama-from-scratch #8. A head of one pair is right.
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

// cos and sin cached in bf16: modded-nanogpt #39, FlashInfer PR 585.
struct TableInBf16 : Correct {
  float entry(float value) override { return to_bf16(value); }
};
const auto in_bf16 = planted<TableInBf16>("mutant_table_in_bf16_table");

// Turns in the opposite direction: nanochat PR 489. norm, relative_position, transpose and
// identity_at_zero hold, because R(-m) is a rotation too. Only the contract fixes the direction.
// decay must see it too, since the imaginary part of a prefix sum changes its sign.
const auto wrong_way = planted<WrongWhen>("mutant_wrong_way_table", [](auto&) { return true; });

// The backward pass is the forward pass: apex PR 1750, flash-attention PR 569.
const auto to_forward = [](auto& p, auto&) { p.operation = ROPE_FORWARD; };
const auto forward_table = planted<Sees>("mutant_backward_is_forward_table", to_forward);
const auto forward_exact = planted<Sees>("mutant_backward_is_forward_exact", to_forward);

// A cache of the process, with a key of the number of frequencies, the first, the middle and the
// last one.
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

// ---- attention_scale (the mscale of YaRN)

// Scales in the table and again in the kernel: vLLM #48351, sglang PR 33558, exllamav3 #259.
const auto twice = planted<Sees>("mutant_scaled_twice_table",
                                 [](auto& p, auto&) { p.attention_scale *= p.attention_scale; });

// Does not scale at all. Seen by norm, transpose, agreement, while relative_position holds.
const auto not_scaled =
    planted<Sees>("mutant_not_scaled_table", [](auto& p, auto&) { p.attention_scale = 0; });

// Clamps the scale far from the scales of models, like a program that checks its input. Seen by
// attention_scale and by generated cases.
const auto scale_clamped = planted<Sees>("mutant_large_scale_clamped_table", [](auto& p, auto&) {
  p.attention_scale = std::clamp(p.attention_scale, -1e6, 1e6);
});

// Takes a scale near 0 for 0, which means 1. Seen by attention_scale and by generated cases.
const auto small = planted<Sees>("mutant_small_scale_is_one_table", [](auto& p, auto&) {
  if (std::abs(p.attention_scale) < 1e-6) p.attention_scale = 0;
});

// Drops the sign of the scale, as a square root would. Seen by agreement only, since norm and
// transpose are even in the scale.
const auto scale_sign = planted<Sees>("mutant_scale_without_sign_table", [](auto& p, auto&) {
  if (p.attention_scale < 0) p.attention_scale = -p.attention_scale;
});

// Scales the whole head, including unrotated elements.
const auto untouched_scaled =
    planted<Finishes>("mutant_untouched_scaled_table", [](auto& p, auto& o) {
      const auto scale = static_cast<float>(scale_of(p));
      for_each_out_row(p, o, [&](float* row, const rope_tensor& s, auto...) {
        if (s.rotate == 0) return;
        for (std::int64_t e = 0; e < s.head_dim; ++e)
          if (e < s.rotary_offset || e >= s.rotary_offset + p.rotary_dim) row[e] *= scale;
      });
    });

// Recognizes 0, which means 1, by its bits, so -0 is not recognized. Seen by attention_scale, in
// its regressions.
const auto scales = planted<Sees>("mutant_negative_zero_scales_table", [](auto& p, auto&) {
  const bool negative_zero = p.attention_scale == 0 && std::signbit(p.attention_scale);
  if (negative_zero) p.attention_scale = -1e-300;  // -0 in f32
});

}  // namespace
}  // namespace ropewalk::mutants
