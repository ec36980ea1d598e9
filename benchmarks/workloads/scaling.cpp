#include "benchmarks/workloads/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ropewalk::bench {
namespace {

struct RopeTypeNote {
  std::string_view type;
  const char* note;
};
constexpr const char* without_factor =
    "timed with the plain frequencies of rope_theta and no factor on the result; a table costs the "
    "same";
constexpr std::array<RopeTypeNote, 4> stand_ins = {{
    {"dynamic", "timed with the plain frequencies, as within the first context"},
    {"yarn", without_factor},
    {"longrope", without_factor},
    {"su", without_factor},  // the first name of longrope
}};

}  // namespace

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

std::vector<std::string_view> rules_with(std::string_view key) {
  std::vector<std::string_view> out;
  for (const FrequencyRule* rule : all_frequency_rules()) {
    const auto keys = keys_of(*rule);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) out.push_back(rule->name);
  }
  return out;
}

const char* stand_in_note(std::string_view type) {
  for (const RopeTypeNote& each : stand_ins)
    if (each.type == type) return each.note;
  return nullptr;
}

std::string known_rope_types() {
  std::vector<std::string_view> computed, stood_in;
  for (const FrequencyRule* rule : all_frequency_rules())
    for (const std::string_view type : rule->config_types)
      if (stand_in_note(type) == nullptr) computed.push_back(type);
  std::sort(computed.begin(), computed.end());
  for (const RopeTypeNote& each : stand_ins)
    if (each.type != "su" && stand_in_note(each.type) != nullptr) stood_in.push_back(each.type);
  return fmt::format("{}, and (timed without) {}", fmt::join(computed, ", "),
                     fmt::join(stood_in, ", "));
}

}  // namespace ropewalk::bench
