// Errors in the angle itself: its frequency, its precision, its direction.
#include <algorithm>
#include <cmath>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// inv_freq cast to bf16 with the model's weights: transformers #25681 and #29496, gpt-neox #1003.
// The result is a rotation by other angles. Seen by agreement, position_sweep and decay, while
// relative_position, norm and transpose hold.
struct FrequencyInBf16 : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    return double{to_bf16(static_cast<float>(p.inv_freq[i]))};
  }
};
const RegisteredKernel frequency_in_bf16 =
    on_angles<FrequencyInBf16>("mutant_frequency_in_bf16_exact");

// theta^(-2(i-1)/d): llama-from-scratch #8. Seen by agreement, position_sweep and decay. A head of
// one pair is right.
struct ExponentOffByOne : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    if (i > 0) return p.inv_freq[i - 1];
    return p.rotary_dim > 2 ? 1 / p.inv_freq[1] : p.inv_freq[0];
  }
};
const RegisteredKernel exponent_off_by_one =
    on_angles<ExponentOffByOne>("mutant_exponent_off_by_one_exact");

// Every frequency is slightly off, like those of a base that is rounded to f32 twice: 2^-22
// relative. Seen by agreement and position_sweep at large positions, and by decay at large
// distances.
struct FrequencyOffByAHair : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    return p.inv_freq[i] * (1 + 0x1p-22);
  }
};
const RegisteredKernel frequency_off_by_a_hair =
    on_angles<FrequencyOffByAHair>("mutant_frequency_off_by_a_hair_exact");

// The angle is an f32 product, as in ggml's CPU kernel and Hugging Face. This is a correct
// f32_angle kernel that claims to be exact. Seen by agreement and position_sweep, and by
// relative_position and decay at large positions.
struct AngleInF32 : Correct {
  CosSin rotation(double frequency, std::int64_t position) override {
    const float angle = static_cast<float>(position) * static_cast<float>(frequency);
    return {std::cos(double{angle}), std::sin(double{angle})};
  }
};
const RegisteredKernel angle_in_f32 = on_angles<AngleInF32>("mutant_angle_in_f32_exact");

// Fast-math sin and cos reduce by 2 pi in one f32 term: kekzl/imp #1316 and #1325, 1e-2 off at
// position 131,071. Seen by agreement and position_sweep, and by relative_position and decay at
// large positions.
struct OneTermReduction : Correct {
  CosSin rotation(double frequency, std::int64_t position) override {
    constexpr float turn = 6.2831855f;
    const auto angle = static_cast<float>(static_cast<double>(position) * frequency);
    const float rest = angle - std::nearbyint(angle / turn) * turn;
    return {std::cos(double{rest}), std::sin(double{rest})};
  }
};
const RegisteredKernel one_term_reduction =
    on_angles<OneTermReduction>("mutant_one_term_reduction_exact");

// cos and sin cached in bf16: modded-nanogpt #39, FlashInfer PR 585. Seen by norm,
// relative_position, transpose, decay, agreement.
struct TableInBf16 : Correct {
  float entry(float value) override { return to_bf16(value); }
};
const RegisteredKernel table_in_bf16_table = on_table<TableInBf16>("mutant_table_in_bf16_table");
const RegisteredKernel table_in_bf16_exact = on_angles<TableInBf16>("mutant_table_in_bf16_exact");

// Turns in the opposite direction: nanochat PR 489. norm, relative_position, transpose and
// identity_at_zero hold, because R(-m) is a rotation too. Only the contract fixes the direction.
// Seen by agreement and position_sweep. decay must see it too, since the imaginary part of a prefix
// sum changes its sign.
struct WrongWay : Correct {
  float sin_sign(const rope_problem& p) override { return -Correct::sin_sign(p); }
};
const RegisteredKernel wrong_way_table = on_table<WrongWay>("mutant_wrong_way_table");
const RegisteredKernel wrong_way_exact = on_angles<WrongWay>("mutant_wrong_way_exact");

// The backward pass is the forward pass: apex PR 1750, flash-attention PR 569. Seen by transpose
// and agreement.
struct BackwardIsForward : Correct {
  void see(rope_problem& p, rope_operands&) override { p.operation = ROPE_FORWARD; }
};
const RegisteredKernel backward_is_forward_table =
    on_table<BackwardIsForward>("mutant_backward_is_forward_table");
const RegisteredKernel backward_is_forward_exact =
    on_angles<BackwardIsForward>("mutant_backward_is_forward_exact");

// A cache of the process, with a key of the number of frequencies, the first, the middle and the
// last one. Seen by history.
struct KeptFrequencies : Correct {
  static constexpr std::size_t most = 600;
  static inline double kept[most];
  static inline std::int64_t count = 0;
  double frequency(const rope_problem& p, std::int64_t i) override {
    return p.rotary_dim / 2 == count ? kept[i] : p.inv_freq[i];
  }
  void see(rope_problem& p, rope_operands&) override {
    const std::int64_t half = p.rotary_dim / 2;
    const auto* f = p.inv_freq;
    if (half == count && f[0] == kept[0] && f[half / 2] == kept[half / 2] &&
        f[half - 1] == kept[half - 1])
      return;
    count = half <= static_cast<std::int64_t>(most) ? half : 0;
    std::copy_n(f, count, kept);
  }
};
const RegisteredKernel kept_frequencies =
    on_angles<KeptFrequencies>("mutant_frequencies_kept_by_three_exact");

// Makes the angles of the frequencies it is told, correctly, in place of reading the only table.
// Seen by agreement and history, where a table has other angles.
struct AnglesForTable : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    if (p.tensor_count > 1 || o.positions == nullptr) return;
    p.angle_source = ROPE_ANGLES_INV_FREQ;
    o.tensor[0].cos = o.tensor[0].sin = nullptr;
  }
};
KernelInfo angles_for_table_info() {
  KernelInfo info = table_info<AnglesForTable>("mutant_angles_for_the_only_table");
  info.workspace_bytes = row_bytes;
  return info;
}
const RegisteredKernel angles_for_table{angles_for_table_info()};

}  // namespace
}  // namespace ropewalk::mutants
