// Errors in attention_scale (the mscale of YaRN).
#include <algorithm>
#include <cmath>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Scales in the table and again in the kernel: vLLM #48351, sglang PR 33558, exllamav3 #259. Seen
// by norm, transpose, agreement.
struct ScaledTwice : Correct {
  void see(rope_problem& p, rope_operands&) override { p.attention_scale *= p.attention_scale; }
};
const RegisteredKernel scaled_twice_table = on_table<ScaledTwice>("mutant_scaled_twice_table");
const RegisteredKernel scaled_twice_exact = on_angles<ScaledTwice>("mutant_scaled_twice_exact");

// Does not scale at all. Seen by norm, transpose, agreement, while relative_position holds.
struct NotScaled : Correct {
  void see(rope_problem& p, rope_operands&) override { p.attention_scale = 0; }
};
const RegisteredKernel not_scaled = on_table<NotScaled>("mutant_not_scaled_table");

// Clamps the scale to a range that seemed reasonable. Seen by attention_scale and agreement.
struct ScaleClamped : Correct {
  void see(rope_problem& p, rope_operands&) override {
    p.attention_scale = std::clamp(p.attention_scale, -100.0, 100.0);
  }
};
const RegisteredKernel scale_clamped = on_table<ScaleClamped>("mutant_scale_clamped_table");

// The same far from the scales of models, like a program that checks its input. Seen by
// attention_scale and by generated cases.
struct LargeScaleClamped : Correct {
  void see(rope_problem& p, rope_operands&) override {
    p.attention_scale = std::clamp(p.attention_scale, -1e6, 1e6);
  }
};
const RegisteredKernel large_scale_clamped =
    on_table<LargeScaleClamped>("mutant_large_scale_clamped_table");

// Takes a scale near 0 for 0, which means 1. Seen by attention_scale and by generated cases.
struct SmallScaleIsOne : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (std::abs(p.attention_scale) < 1e-6) p.attention_scale = 0;
  }
};
const RegisteredKernel small_scale_is_one =
    on_table<SmallScaleIsOne>("mutant_small_scale_is_one_table");

// Drops the sign of the scale, as a square root would. Seen by agreement only, since norm and
// transpose are even in the scale.
struct ScaleWithoutSign : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (p.attention_scale < 0) p.attention_scale = -p.attention_scale;
  }
};
const RegisteredKernel scale_without_sign =
    on_table<ScaleWithoutSign>("mutant_scale_without_sign_table");

// Scales the whole head, including unrotated elements. Seen by untouched_dims.
struct UntouchedScaled : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    const auto scale = static_cast<float>(scale_of(p));
    for_each_token(p, o, [&](const Token& token) {
      for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
        const rope_tensor& s = p.tensor[i];
        for (std::int64_t h = 0; h < s.heads && s.rotate != 0; ++h) {
          float* row = out_row(p, o, i, token.batch, token.index, h);
          for (std::int64_t e = 0; e < s.rotary_offset; ++e) row[e] *= scale;
          for (std::int64_t e = s.rotary_offset + p.rotary_dim; e < s.head_dim; ++e)
            row[e] *= scale;
        }
      }
    });
  }
};
const RegisteredKernel untouched_scaled =
    on_table<UntouchedScaled>("mutant_untouched_scaled_table");

// Recognizes 0, which means 1, by its bits, so -0 is not recognized. Seen by attention_scale, in
// its regressions.
struct NegativeZeroScales : Correct {
  void rotate(const Pair& x) override {
    Pair scaled = x;
    if (negative_zero) scaled.scale = -0.0f;
    Correct::rotate(scaled);
  }
  void see(rope_problem& p, rope_operands&) override {
    negative_zero = p.attention_scale == 0 && std::signbit(p.attention_scale);
  }
  bool negative_zero = false;
};
const RegisteredKernel negative_zero_scales =
    on_table<NegativeZeroScales>("mutant_negative_zero_scales_table");

}  // namespace
}  // namespace ropewalk::mutants
