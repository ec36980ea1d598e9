// llama3: the rule of Llama 3.1. It counts the turns of each pair within the original context.
// Pairs above high_freq_factor turns keep their frequency. Those below low_freq_factor turns are
// divided by the factor. Between the two, the share that is kept grows linearly with the turns.
// Equal factors make a step, as in Llama 4.
//
// Source: apply_scaling in llama_models/llama3/model.py of Meta's llama-models.
#include "reference/frequency_rule.h"
#include "reference/real.h"

namespace ropewalk {
namespace {

std::vector<double> by_share_kept(const RuleInput& in) {
  const Real factor = in.number("scaling_factor"), low = in.number("low_freq_factor"),
             high = in.number("high_freq_factor");
  auto out = real_frequencies(in.rope_theta, in.rotary_dim, in.rotary_dim / 2);
  for (Real& frequency : out) {
    const Real turns = turns_in(in.number("original_positions"), frequency);
    if (turns > high) continue;
    const Real kept = turns < low || low == high ? Real(0) : (turns - low) / (high - low);
    frequency = (1 - kept) * frequency / factor + kept * frequency;
  }
  return rounded(out);
}

const RegisteredRule llama3({
    .name = "llama3",
    .config_types = {"llama3"},
    .parameters = {factor_parameter,
                   {.key = "low_freq_factor",
                    .config_key = "low_freq_factor",
                    .least = 1e-9,
                    .at_most = "high_freq_factor"},
                   {.key = "high_freq_factor", .config_key = "high_freq_factor", .least = 1e-9},
                   original_parameter},
    .inv_freq = by_share_kept,
});

}  // namespace
}  // namespace ropewalk
