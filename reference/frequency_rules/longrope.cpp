// longrope: each frequency is divided by a factor of its own pair, from one list within the
// original context and from another beyond it. With L original positions, cos and sin get the
// factor sqrt(1 + ln(scaling_factor) / ln(L)) in both.
//
// Source: LongRoPE (arXiv:2402.13753), section 3.3, and the code of Phi-3 as transformers has it
// (modeling_rope_utils.py, _compute_longrope_parameters). The paper also spares the first tokens,
// which no frequency can say; the models do not.
#include "reference/frequency_rule.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

std::vector<double> by_lists(const RuleInput& in) {
  const bool beyond = in.number("context") > in.number("original_positions");
  const auto factors = in.list(beyond ? "long_factor" : "short_factor");
  auto out = real_frequencies(in.rope_theta, in.rotary_dim, in.rotary_dim / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= factors[i];
  return rounded(out);
}

double scale_of(const RuleInput& in) {
  if (const double given = in.number("attention_factor"); given != 0) return given;
  const Real length = in.number("original_positions"), factor = in.number("scaling_factor");
  return Real(sqrt(1 + log(factor) / log(length))).convert_to<double>();
}

const RegisteredRule longrope({
    .name = "longrope",
    .config_types = {"longrope", "su"},  // su: its first name
    // The least factor keeps a frequency below 2 pi.
    .parameters =
        {{.key = "short_factor", .config_key = "short_factor", .least = 0.25, .list = true},
         {.key = "long_factor", .config_key = "long_factor", .least = 0.25, .list = true},
         {.key = "original_positions",
          .config_key = "original_max_position_embeddings",
          .meaning = "the original context",
          .least = 2,
          .most = 0x1p31,
          .count = true},
         context_parameter,
         {.key = "scaling_factor",
          .config_key = "factor",
          .meaning = "the scaling factor",
          .otherwise = 1},
         attention_parameter},
    .inv_freq = by_lists,
    .attention_scale = scale_of,
});

}  // namespace
}  // namespace ropewalk
