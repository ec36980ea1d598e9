// dynamic: NTK-aware scaling whose base grows with the sequence. Within the original context
// nothing changes. Beyond it, with L original positions and d = rotary_dim,
//   base' = base (factor context / L - (factor - 1))^(d / (d - 2)).
// dynamic_ratio is the rule of the YaRN paper, which has no factor: base' = base s^(d / (d - 2))
// with s = max(1, context / L). The two agree for factor 1.
//
// Source: the code of transformers (modeling_rope_utils.py, _compute_dynamic_ntk_parameters); the
// YaRN paper (arXiv:2309.00071), definition 1 and the section on dynamic scaling.
#include "reference/frequency_rule.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

std::vector<double> with_base(const RuleInput& in, const Real& growth) {
  const Real d = in.rotary_dim;
  const Real base = in.rope_theta * pow(growth, d / (d - 2));
  return rounded(real_frequencies(base, in.rotary_dim, in.rotary_dim / 2));
}

// How many times longer the context is than the original one; at least 1.
Real stretch_of(const RuleInput& in) {
  const Real original = in.number("original_positions"), context = in.number("context");
  return context > original ? Real(context / original) : Real(1);
}

std::vector<double> by_factor(const RuleInput& in) {
  const Real factor = in.number("scaling_factor");
  return with_base(in, factor * stretch_of(in) - (factor - 1));
}

const RegisteredRule dynamic({.name = "dynamic",
                              .config_types = {"dynamic"},
                              .parameters = {factor_parameter, original_parameter,
                                             context_parameter},
                              .inv_freq = by_factor,
                              .least_rotary_dim = 4});

const RegisteredRule dynamic_ratio(
    {.name = "dynamic_ratio",
     .parameters = {original_parameter, context_parameter},
     .inv_freq = [](const RuleInput& in) { return with_base(in, stretch_of(in)); },
     .least_rotary_dim = 4});

}  // namespace
}  // namespace ropewalk
