#include "reference/frequency_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <stdexcept>
#include <tuple>

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
  const auto found = std::ranges::find_if(all, holds);
  return found == all.end() ? nullptr : *found;
}

std::size_t values_of(const RuleParameter& parameter, std::int64_t rotary_dim) {
  return parameter.list ? static_cast<std::size_t>(rotary_dim / 2) : 1;
}

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

bool in_range(const RuleParameter& parameter, double value) {
  return std::isfinite(value) && value >= parameter.least && value <= parameter.most &&
         (!parameter.count || std::floor(value) == value);
}

RuleFault out_of_range(const RuleParameter& p, double value) {
  return {std::string(p.key),
          fmt::format("{} is {}; it must be {}{} to {}{}{}", p.meaning.empty() ? p.key : p.meaning,
                      value, p.count ? "an integer from " : "", end_of_range(p.least),
                      end_of_range(p.most), p.at_most.empty() ? "" : " and at most ", p.at_most)};
}

void need_no_fault(const RuleInput& in) {
  if (const auto fault = rule_fault(in.rule, in.rope_theta, in.rotary_dim, in.values))
    throw std::invalid_argument("the rule " + std::string(in.rule.name) + ": " + fault->what);
}

// A rule takes milliseconds, and a run asks for the same few hundred again and again.
constexpr std::size_t most_kept = 4096;

std::vector<double> kept_frequencies(FrequencyFunction compute, const RuleInput& in) {
  using Key = std::tuple<FrequencyFunction, double, std::int64_t, std::vector<double>>;
  thread_local std::map<Key, std::vector<double>> kept;
  const Key key(compute, in.rope_theta, in.rotary_dim, {in.values.begin(), in.values.end()});
  if (const auto found = kept.find(key); found != kept.end()) return found->second;
  need_no_fault(in);
  if (kept.size() >= most_kept) kept.clear();
  return kept[key] = compute(in);
}

}  // namespace

std::span<const double> RuleInput::list(std::string_view key) const {
  std::size_t at = 0;
  for (const RuleParameter& parameter : rule.parameters) {
    const std::size_t count = values_of(parameter, rotary_dim);
    if (parameter.key == key) return values.subspan(at, count);
    at += count;
  }
  throw std::logic_error("the rule " + std::string(rule.name) + " has no " + std::string(key));
}

RegisteredRule::RegisteredRule(const FrequencyRule& rule) {
  registry().push_back(rule);
}

const std::vector<const FrequencyRule*>& all_frequency_rules() {
  static const std::vector<const FrequencyRule*> list = [] {
    std::vector<const FrequencyRule*> rules;
    for (const FrequencyRule& rule : registry()) rules.push_back(&rule);
    std::ranges::sort(
        rules, [](const FrequencyRule* a, const FrequencyRule* b) { return a->name < b->name; });
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
    return std::ranges::find(types, type) != types.end();
  });
}

std::size_t value_count(const FrequencyRule& rule, std::int64_t rotary_dim) {
  std::size_t count = 0;
  for (const RuleParameter& parameter : rule.parameters) count += values_of(parameter, rotary_dim);
  return count;
}

std::optional<RuleFault> rule_fault(const FrequencyRule& rule, double rope_theta,
                                    std::int64_t rotary_dim, std::span<const double> values) {
  if (rotary_dim < rule.least_rotary_dim)
    return RuleFault{"rotary_dim", fmt::format("rotary_dim is {}; {} needs at least {}", rotary_dim,
                                               rule.name, rule.least_rotary_dim)};
  if (!(rope_theta > rule.theta_above))
    return RuleFault{"rope_theta", fmt::format("rope_theta is {}; {} needs more than {}",
                                               rope_theta, rule.name, rule.theta_above)};
  const std::size_t count = value_count(rule, rotary_dim);
  if (values.size() != count)
    return RuleFault{"scaling_values", fmt::format("scaling {} needs {} scaling_values, got {}",
                                                   rule.name, count, values.size())};
  const RuleInput in{rule, rope_theta, rotary_dim, values};
  for (const RuleParameter& parameter : rule.parameters)
    for (const double value : in.list(parameter.key))
      if (!in_range(parameter, value) ||
          (!parameter.at_most.empty() && value > in.number(parameter.at_most)))
        return out_of_range(parameter, value);
  return std::nullopt;
}

std::vector<double> rule_frequencies(const FrequencyRule& rule, double rope_theta,
                                     std::int64_t rotary_dim, std::span<const double> values) {
  return kept_frequencies(rule.inv_freq, {rule, rope_theta, rotary_dim, values});
}

std::vector<double> rule_frequencies_f32(const FrequencyRule& rule, double rope_theta,
                                         std::int64_t rotary_dim, std::span<const double> values) {
  if (rule.inv_freq_f32 != nullptr)
    return kept_frequencies(rule.inv_freq_f32, {rule, rope_theta, rotary_dim, values});
  std::vector<double> out = rule_frequencies(rule, rope_theta, rotary_dim, values);
  for (double& frequency : out) frequency = static_cast<double>(static_cast<float>(frequency));
  return out;
}

double rule_scale(const FrequencyRule& rule, double rope_theta, std::int64_t rotary_dim,
                  std::span<const double> values) {
  const RuleInput in{rule, rope_theta, rotary_dim, values};
  need_no_fault(in);
  return rule.attention_scale == nullptr ? 1 : rule.attention_scale(in);
}

}  // namespace ropewalk
