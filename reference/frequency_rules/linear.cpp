// linear: each frequency is divided by the factor, so a context is as many times longer.
//
// Source: position interpolation (arXiv:2306.15595), section 3.2.
#include "reference/frequency_rule.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

std::vector<double> divided(const RuleInput& in) {
  auto out = real_frequencies(in.rope_theta, in.rotary_dim, in.rotary_dim / 2);
  for (Real& frequency : out) frequency /= in.number("scaling_factor");
  return rounded(out);
}

const RegisteredRule linear({
    .name = "linear",
    .config_types = {"linear"},
    .parameters = {factor_parameter},
    .inv_freq = divided,
});

}  // namespace
}  // namespace ropewalk
