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
    .inv_freq = [](double rope_theta, std::int64_t rotary_dim,
                   std::span<const double>) { return inverse_frequencies(rope_theta, rotary_dim); },
    .inv_freq_f32 =
        [](double rope_theta, std::int64_t rotary_dim, std::span<const double>) {
          return inverse_frequencies_f32(rope_theta, rotary_dim);
        },
});

}  // namespace
}  // namespace ropewalk
