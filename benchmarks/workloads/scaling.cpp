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

/// "1", "2^31" or "1e9".
std::string end_of_range(double value) {
  int exponent = 0;
  if (std::frexp(value, &exponent) == 0.5 && exponent > 20)
    return fmt::format("2^{}", exponent - 1);
  std::string text = fmt::format("{:g}", value);
  for (const std::string_view padding : {"e+0", "e-0"}) {
    const auto at = text.find(padding);
    if (at != text.npos) text.replace(at, padding.size(), padding == "e-0" ? "e-" : "e");
  }
  return text;
}

}  // namespace

std::optional<ShapeFault> scaling_fault(const harness::Case& w) {
  const FrequencyRule* rule = find_frequency_rule(w.scaling);
  if (rule == nullptr || rule->parameters.size() != w.scaling_values.size())
    return ShapeFault{"scaling", fmt::format("scaling {} is unknown, or needs other parameters",
                                             shown(w.scaling))};
  const RuleParameter* wrong = wrong_parameter(*rule, w.scaling_values);
  if (wrong == nullptr) return std::nullopt;
  const auto place = static_cast<std::size_t>(wrong - rule->parameters.data());
  return ShapeFault{std::string(wrong->key),
                    fmt::format("{} is {}; it must be {}{} to {}{}{}",
                                wrong->meaning.empty() ? wrong->key : wrong->meaning,
                                w.scaling_values[place], wrong->count ? "an integer from " : "",
                                end_of_range(wrong->least), end_of_range(wrong->most),
                                wrong->below.empty() ? "" : " and below ", wrong->below)};
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
    if (each.type == type && find_rule_of_config(type) == nullptr) return each.note;
  return nullptr;
}

std::string known_rope_types() {
  std::vector<std::string_view> computed, stood_in;
  for (const FrequencyRule* rule : all_frequency_rules())
    computed.insert(computed.end(), rule->config_types.begin(), rule->config_types.end());
  std::sort(computed.begin(), computed.end());
  for (const RopeTypeNote& each : stand_ins)
    if (each.type != "su" && stand_in_note(each.type) != nullptr) stood_in.push_back(each.type);
  return fmt::format("{}, and (timed without) {}", fmt::join(computed, ", "),
                     fmt::join(stood_in, ", "));
}

}  // namespace ropewalk::bench
