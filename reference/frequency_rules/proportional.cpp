// proportional: the first pairs of a head turn by the powers of the base with exponents over the
// whole head, all divided by the factor. The other pairs do not turn. rotary_dim is head_dim.
//
// Source: the code of Gemma 4 as transformers has it (modeling_rope_utils.py,
// _compute_proportional_rope_parameters); there is no paper.
#include <cmath>

#include "reference/frequency_rule.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

std::vector<double> first_pairs(const RuleInput& in) {
  // In doubles, as the code counts them.
  const double turning =
      std::floor(in.number("rotated_share") * static_cast<double>(in.rotary_dim) / 2);
  auto out = real_frequencies(in.rope_theta, in.rotary_dim, static_cast<std::int64_t>(turning));
  for (Real& frequency : out) frequency /= in.number("scaling_factor");
  out.resize(static_cast<std::size_t>(in.rotary_dim / 2));
  return rounded(out);
}

const RegisteredRule proportional({
    .name = "proportional",
    .config_types = {"proportional"},
    .parameters = {{.key = "rotated_share",
                    .config_key = "partial_rotary_factor",
                    .meaning = "the share of the pairs that turn",
                    .least = 0,
                    .most = 1,
                    .otherwise = 1},
                   {.key = "scaling_factor",
                    .config_key = "factor",
                    .meaning = "the scaling factor",
                    .otherwise = 1}},
    .inv_freq = first_pairs,
});

}  // namespace
}  // namespace ropewalk
