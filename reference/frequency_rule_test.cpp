// The registry of frequency rules, what every rule must hold, and that a rule that does not is
// found.
#include "reference/frequency_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace ropewalk {
namespace {

bool is_word(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

/// What is wrong with the words and ranges of a rule; empty if nothing is.
std::string fault_of_form(const FrequencyRule& rule) {
  if (!is_word(rule.name)) return "name";
  if (rule.config_types.empty()) return "config_types";
  if (rule.inv_freq == nullptr) return "inv_freq";
  std::set<std::string_view> keys, config_keys;
  for (const RuleParameter& p : rule.parameters) {
    if (!is_word(p.key) || !keys.insert(p.key).second) return "key";
    if (p.config_key.empty() || !config_keys.insert(p.config_key).second) return "config_key";
    if (!(p.least <= p.most) || (p.count && (p.least != 1 || p.most > 0x1p53))) return "range";
    if (p.otherwise && !(*p.otherwise >= p.least && *p.otherwise <= p.most)) return "otherwise";
  }
  for (const RuleParameter& p : rule.parameters)
    if (!p.below.empty() && (p.below == p.key || !keys.contains(p.below))) return "below";
  return {};
}

/// Values for every parameter, at one share of the way through its range, in powers.
std::vector<double> values_at(const FrequencyRule& rule, double share) {
  std::vector<double> values;
  for (const RuleParameter& p : rule.parameters) {
    const double value = p.least * std::pow(p.most / p.least, share);
    values.push_back(p.count ? std::floor(value) : value);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!rule.parameters[i].below.empty())
      values[i] = std::max(rule.parameters[i].least, values[i] / 2);
  return values;
}

/// Whether the frequencies are what a kernel may be given, wherever the values lie.
bool frequencies_hold(const FrequencyRule& rule) {
  for (const std::int64_t rotary_dim : {2, 128})
    for (const double share : {0.01, 0.2, 0.5, 0.99}) {
      const auto values = values_at(rule, share);
      for (const auto& list : {rule_frequencies(rule, 10000, rotary_dim, values),
                               rule_frequencies_f32(rule, 10000, rotary_dim, values)}) {
        if (list.size() != static_cast<std::size_t>(rotary_dim / 2)) return false;
        for (const double frequency : list)
          if (!(frequency >= 0 && frequency <= 2 * std::numbers::pi)) return false;
      }
    }
  return true;
}

std::vector<double> plain(double, std::int64_t rotary_dim, std::span<const double>) {
  return std::vector<double>(static_cast<std::size_t>(rotary_dim / 2), 1.0 / 3);
}

FrequencyRule right_rule() {
  return {.name = "right",
          .config_types = {"right"},
          .parameters = {{.key = "low", .config_key = "low", .least = 0.5, .below = "high"},
                         {.key = "high", .config_key = "high", .least = 0.5, .otherwise = 4},
                         {.key = "turns", .config_key = "turns", .most = 100, .count = true}},
          .inv_freq = plain};
}

TEST(FrequencyRule, EveryRuleHolds) {
  std::set<std::string_view> names, types;
  for (const FrequencyRule* rule : all_frequency_rules()) {
    EXPECT_EQ(fault_of_form(*rule), "") << rule->name;
    EXPECT_TRUE(names.insert(rule->name).second) << rule->name;
    for (const std::string_view type : rule->config_types)
      EXPECT_TRUE(types.insert(type).second) << type;
    EXPECT_TRUE(frequencies_hold(*rule)) << rule->name;
  }
}

// The files of the rules are linked, though no code calls them.
TEST(FrequencyRule, RulesAreFoundByTheirWords) {
  for (const char* name : {"linear", "llama3", "none"}) {
    ASSERT_NE(find_frequency_rule(name), nullptr) << name;
    EXPECT_EQ(find_frequency_rule(name)->name, name);
  }
  EXPECT_EQ(find_rule_of_config("default"), find_frequency_rule("none"));
  EXPECT_EQ(find_rule_of_config("llama3"), find_frequency_rule("llama3"));
  EXPECT_EQ(find_frequency_rule("default"), nullptr);
  EXPECT_EQ(find_rule_of_config("none"), nullptr);
  EXPECT_TRUE(std::is_sorted(all_frequency_rules().begin(), all_frequency_rules().end(),
                             [](auto* a, auto* b) { return a->name < b->name; }));
}

TEST(FrequencyRule, ARuleThatDoesNotHoldIsFound) {
  EXPECT_EQ(fault_of_form(right_rule()), "");
  EXPECT_TRUE(frequencies_hold(right_rule()));
  const auto with = [](auto change) {
    FrequencyRule rule = right_rule();
    change(rule);
    return fault_of_form(rule);
  };
  EXPECT_EQ(with([](FrequencyRule& r) { r.name = "Right"; }), "name");
  EXPECT_EQ(with([](FrequencyRule& r) { r.config_types = {}; }), "config_types");
  EXPECT_EQ(with([](FrequencyRule& r) { r.inv_freq = nullptr; }), "inv_freq");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[1].key = "low"; }), "key");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[1].config_key = ""; }), "config_key");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[0].least = 1e10; }), "range");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[2].least = 0; }), "range");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[1].otherwise = 0; }), "otherwise");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[0].below = "far"; }), "below");
  FrequencyRule wrong = right_rule();
  wrong.inv_freq = [](double, std::int64_t, std::span<const double>) {
    return std::vector<double>{7};
  };
  EXPECT_FALSE(frequencies_hold(wrong));
  wrong.inv_freq = [](double, std::int64_t rotary_dim, std::span<const double>) {
    return std::vector<double>(static_cast<std::size_t>(rotary_dim), 1);
  };
  EXPECT_FALSE(frequencies_hold(wrong));
}

TEST(FrequencyRule, AWrongValueIsNamed) {
  const FrequencyRule rule = right_rule();
  const auto key_for = [&](const std::vector<double>& values) {
    const RuleParameter* wrong = wrong_parameter(rule, values);
    return wrong == nullptr ? "none" : wrong->key;
  };
  EXPECT_EQ(key_for({1, 4, 7}), "none");
  EXPECT_EQ(key_for({0.5, 1e9, 100}), "none");
  EXPECT_EQ(key_for({0.4, 4, 7}), "low");
  EXPECT_EQ(key_for({NAN, 4, 7}), "low");
  EXPECT_EQ(key_for({4, 4, 7}), "low");
  EXPECT_EQ(key_for({1, INFINITY, 7}), "high");
  EXPECT_EQ(key_for({1, 2e9, 7}), "high");
  EXPECT_EQ(key_for({1, 4, 0}), "turns");
  EXPECT_EQ(key_for({1, 4, 7.5}), "turns");
  EXPECT_EQ(key_for({1, 4, 101}), "turns");
  EXPECT_THROW(rule_frequencies(rule, 10000, 8, std::vector<double>{4, 4, 7}),
               std::invalid_argument);
  EXPECT_THROW(rule_frequencies_f32(rule, 10000, 8, std::vector<double>{1, 4}),
               std::invalid_argument);
}

TEST(FrequencyRule, TheF32FormIsRoundedOnceUnlessTheRuleHasItsOwn) {
  FrequencyRule rule = right_rule();
  const std::vector<double> values = {1, 4, 7};
  EXPECT_EQ(rule_frequencies(rule, 10000, 2, values)[0], 1.0 / 3);
  EXPECT_EQ(rule_frequencies_f32(rule, 10000, 2, values)[0], static_cast<double>(1.0F / 3));
  rule.inv_freq_f32 = [](double, std::int64_t, std::span<const double>) {
    return std::vector<double>{0.25};
  };
  EXPECT_EQ(rule_frequencies_f32(rule, 10000, 2, values)[0], 0.25);
}

}  // namespace
}  // namespace ropewalk
