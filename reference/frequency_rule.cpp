#include "reference/frequency_rule.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <stdexcept>
#include <string>

namespace ropewalk {
namespace {

// Filled before main and never changed after it, so pointers into it stay valid.
std::deque<FrequencyRule>& registry() {
  static std::deque<FrequencyRule> all;
  return all;
}

template <class Holds>
const FrequencyRule* first_that(Holds holds) {
  const auto& all = all_frequency_rules();
  const auto found = std::find_if(all.begin(), all.end(), holds);
  return found == all.end() ? nullptr : *found;
}

bool holds(const FrequencyRule& rule, std::span<const double> values, std::size_t i) {
  const RuleParameter& parameter = rule.parameters[i];
  const double value = values[i];
  if (!std::isfinite(value) || value < parameter.least || value > parameter.most) return false;
  if (parameter.count && (value < 1 || std::floor(value) != value)) return false;
  for (std::size_t other = 0; other < values.size(); ++other)
    if (rule.parameters[other].key == parameter.below && value >= values[other]) return false;
  return true;
}

void need_right_values(const FrequencyRule& rule, std::span<const double> values) {
  if (values.size() != rule.parameters.size() || wrong_parameter(rule, values) != nullptr)
    throw std::invalid_argument("the rule " + std::string(rule.name) +
                                " cannot be given these values");
}

}  // namespace

RegisteredRule::RegisteredRule(const FrequencyRule& rule) {
  registry().push_back(rule);
}

const std::vector<const FrequencyRule*>& all_frequency_rules() {
  static const std::vector<const FrequencyRule*> list = [] {
    std::vector<const FrequencyRule*> rules;
    for (const FrequencyRule& rule : registry()) rules.push_back(&rule);
    std::sort(rules.begin(), rules.end(),
              [](const FrequencyRule* a, const FrequencyRule* b) { return a->name < b->name; });
    return rules;
  }();
  return list;
}

const FrequencyRule* find_frequency_rule(std::string_view name) {
  return first_that([&](const FrequencyRule* rule) { return rule->name == name; });
}

const FrequencyRule* find_rule_of_config(std::string_view type) {
  return first_that([&](const FrequencyRule* rule) {
    const auto& types = rule->config_types;
    return std::find(types.begin(), types.end(), type) != types.end();
  });
}

const RuleParameter* wrong_parameter(const FrequencyRule& rule, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!holds(rule, values, i)) return &rule.parameters[i];
  return nullptr;
}

std::vector<double> rule_frequencies(const FrequencyRule& rule, double rope_theta,
                                     std::int64_t rotary_dim, std::span<const double> values) {
  need_right_values(rule, values);
  return rule.inv_freq(rope_theta, rotary_dim, values);
}

std::vector<double> rule_frequencies_f32(const FrequencyRule& rule, double rope_theta,
                                         std::int64_t rotary_dim, std::span<const double> values) {
  need_right_values(rule, values);
  if (rule.inv_freq_f32 != nullptr) return rule.inv_freq_f32(rope_theta, rotary_dim, values);
  std::vector<double> out = rule.inv_freq(rope_theta, rotary_dim, values);
  for (double& frequency : out) frequency = static_cast<double>(static_cast<float>(frequency));
  return out;
}

}  // namespace ropewalk
