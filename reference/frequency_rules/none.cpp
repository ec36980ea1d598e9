// none: the powers of the base as they are.
//
// Source: RoFormer, section 3.2.2. A config.json calls it default.
#include "reference/frequencies.h"
#include "reference/frequency_rule.h"

namespace ropewalk {
namespace {

const RegisteredRule none({
    .name = "none",
    .config_types = {"default"},
    .inv_freq =
        [](const RuleInput& in) { return inverse_frequencies(in.rope_theta, in.rotary_dim); },
    .inv_freq_f32 =
        [](const RuleInput& in) { return inverse_frequencies_f32(in.rope_theta, in.rotary_dim); },
});

}  // namespace
}  // namespace ropewalk
