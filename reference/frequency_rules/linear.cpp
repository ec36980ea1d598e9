// linear: each frequency is divided by the factor, so a context is as many times longer.
//
// Error: one rounding of the quotient of a correctly rounded frequency.
// Source: position interpolation (arXiv:2306.15595), section 3.2.
#include "reference/frequencies.h"
#include "reference/frequency_rule.h"

namespace ropewalk {
namespace {

std::vector<double> divided(double rope_theta, std::int64_t rotary_dim,
                            std::span<const double> values) {
  std::vector<double> out = inverse_frequencies(rope_theta, rotary_dim);
  for (double& frequency : out) frequency /= values[0];
  return out;
}

const RegisteredRule linear({
    .name = "linear",
    .config_types = {"linear"},
    .parameters = {{.key = "scaling_factor",
                    .config_key = "factor",
                    .meaning = "the scaling factor"}},
    .inv_freq = divided,
});

}  // namespace
}  // namespace ropewalk
