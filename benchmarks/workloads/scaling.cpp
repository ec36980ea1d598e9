#include "benchmarks/workloads/scaling.h"

#include <fmt/format.h>

#include <algorithm>

namespace ropewalk::bench {
std::optional<ShapeFault> scaling_fault(const harness::Case& w) {
  const FrequencyRule* rule = find_frequency_rule(w.scaling);
  if (rule == nullptr)
    return ShapeFault{"scaling", fmt::format("scaling {} is unknown", shown(w.scaling))};
  const auto fault = rule_fault(*rule, w.rope_theta, w.rotary_dim, w.scaling_values);
  if (!fault) return std::nullopt;
  return ShapeFault{fault->key == "scaling_values" ? "scaling" : fault->key, fault->what};
}

void take_rule_scale(harness::Case& w) {
  if (scaling_fault(w)) return;
  const double scale =
      rule_scale(*find_frequency_rule(w.scaling), w.rope_theta, w.rotary_dim, w.scaling_values);
  if (scale != 1) w.attention_scale = scale;
}

std::vector<std::string_view> keys_of(const FrequencyRule& rule) {
  std::vector<std::string_view> out;
  for (const RuleParameter& parameter : rule.parameters) out.push_back(parameter.key);
  return out;
}

std::string known_rope_types() {
  std::vector<std::string_view> types;
  for (const FrequencyRule* rule : all_frequency_rules())
    types.insert(types.end(), rule->config_types.begin(), rule->config_types.end());
  std::sort(types.begin(), types.end());
  return fmt::format("{}", fmt::join(types, ", "));
}

}  // namespace ropewalk::bench
