// llama3: the rule of Llama 3.1. It counts the turns of each pair within the original context.
// Pairs above high_freq_factor turns keep their frequency. Those below low_freq_factor turns are
// divided by the factor. Between the two, the share that is kept grows linearly with the turns.
//
// Error: with u = 2^-53, at most 4 u factor low / (high - low) + 12 u of a frequency, which is 23 u
// for Llama 3.1. The turns are off by 4 u, which the difference to low_freq_factor enlarges.
// Source: apply_scaling in llama_models/llama3/model.py of Meta's llama-models.
#include <numbers>

#include "reference/frequencies.h"
#include "reference/frequency_rule.h"

namespace ropewalk {
namespace {

std::vector<double> by_turns(double rope_theta, std::int64_t rotary_dim,
                             std::span<const double> values) {
  const double factor = values[0], low = values[1], high = values[2], original = values[3];
  std::vector<double> out = inverse_frequencies(rope_theta, rotary_dim);
  for (double& frequency : out) {
    const double turns = original * frequency / (2 * std::numbers::pi);
    if (turns > high) continue;
    const double kept = turns < low ? 0 : (turns - low) / (high - low);
    frequency = (1 - kept) * frequency / factor + kept * frequency;
  }
  return out;
}

const RegisteredRule llama3({
    .name = "llama3",
    .config_types = {"llama3"},
    .parameters = {{.key = "scaling_factor",
                    .config_key = "factor",
                    .meaning = "the scaling factor"},
                   {.key = "low_freq_factor",
                    .config_key = "low_freq_factor",
                    .least = 1e-9,
                    .below = "high_freq_factor"},
                   {.key = "high_freq_factor", .config_key = "high_freq_factor", .least = 1e-9},
                   {.key = "original_positions",
                    .config_key = "original_max_position_embeddings",
                    .meaning = "the original context",
                    .most = 0x1p31,
                    .count = true}},
    .inv_freq = by_turns,
});

}  // namespace
}  // namespace ropewalk
