// Errors in attention_scale (the mscale of YaRN).
#include <algorithm>
#include <cmath>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Scales in the table and again in the kernel: vLLM #48351, sglang PR 33558, exllamav3 #259. Seen
// by norm, transpose, agreement.
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
const auto one = planted<Sees>("mutant_small_scale_is_one_table", [](auto& p, auto&) {
  if (std::abs(p.attention_scale) < 1e-6) p.attention_scale = 0;
});

// Drops the sign of the scale, as a square root would. Seen by agreement only, since norm and
// transpose are even in the scale.
const auto sign = planted<Sees>("mutant_scale_without_sign_table", [](auto& p, auto&) {
  if (p.attention_scale < 0) p.attention_scale = -p.attention_scale;
});

// Scales the whole head, including unrotated elements. Seen by untouched_dims.
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
