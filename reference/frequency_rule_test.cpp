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
  if (rule.inv_freq == nullptr) return "inv_freq";
  std::set<std::string_view> keys, config_keys;
  for (const RuleParameter& p : rule.parameters) {
    if (!is_word(p.key) || !keys.insert(p.key).second) return "key";
    if (p.config_key.empty() || !config_keys.insert(p.config_key).second) return "config_key";
    if (!(p.least <= p.most) || (p.count && p.most > 0x1p53)) return "range";
    if (p.otherwise && !(*p.otherwise >= p.least && *p.otherwise <= p.most)) return "otherwise";
  }
  for (const RuleParameter& p : rule.parameters)
    if (!p.at_most.empty() && (p.at_most == p.key || !keys.contains(p.at_most))) return "at_most";
  return {};
}

/// Values for every parameter, at one share of the way through its range, in powers.
std::vector<double> values_at(const FrequencyRule& rule, std::int64_t rotary_dim, double share) {
  std::vector<double> values;
  for (const RuleParameter& p : rule.parameters) {
    const double least = std::max(p.least, 1e-3), low = p.at_most.empty() ? 0 : 0.2;
    const double value = least * std::pow(p.most / least, std::max(0.0, share - low));
    values.insert(values.end(), p.list ? static_cast<std::size_t>(rotary_dim / 2) : 1,
                  p.count ? std::ceil(value) : value);
  }
  return values;
}

/// Whether the frequencies are what a kernel may be given, wherever the values lie.
bool frequencies_hold(const FrequencyRule& rule) {
  for (const std::int64_t rotary_dim : {rule.least_rotary_dim, std::int64_t{128}})
    for (const double share : {0.01, 0.2, 0.5, 0.99}) {
      const auto values = values_at(rule, rotary_dim, share);
      if (!(rule_scale(rule, 10000, rotary_dim, values) > 0)) return false;
      for (const auto& list : {rule_frequencies(rule, 10000, rotary_dim, values),
                               rule_frequencies_f32(rule, 10000, rotary_dim, values)}) {
        if (list.size() != static_cast<std::size_t>(rotary_dim / 2)) return false;
        for (const double frequency : list)
          if (!(frequency >= 0 && frequency <= 2 * std::numbers::pi)) return false;
      }
    }
  return true;
}

std::vector<double> plain(const RuleInput& in) {
  return std::vector<double>(static_cast<std::size_t>(in.rotary_dim / 2), 1.0 / 3);
}

FrequencyRule right_rule() {
  return {.name = "right",
          .config_types = {"right"},
          .parameters = {{.key = "low", .config_key = "low", .least = 0.5, .at_most = "high"},
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
  for (const char* name : {"axial", "dynamic", "dynamic_ratio", "linear", "llama3", "longrope",
                           "none", "proportional", "yarn", "yarn_by_turns"}) {
    ASSERT_NE(find_frequency_rule(name), nullptr) << name;
    EXPECT_EQ(find_frequency_rule(name)->name, name);
  }
  EXPECT_EQ(find_rule_of_config("default"), find_frequency_rule("none"));
  EXPECT_EQ(find_rule_of_config("llama3"), find_frequency_rule("llama3"));
  EXPECT_EQ(find_frequency_rule("default"), nullptr);
  EXPECT_EQ(find_rule_of_config("su"), find_frequency_rule("longrope"));
  for (const char* name : {"none", "yarn_by_turns", "dynamic_ratio"})
    EXPECT_EQ(find_rule_of_config(name), nullptr) << name;
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
  EXPECT_EQ(with([](FrequencyRule& r) { r.inv_freq = nullptr; }), "inv_freq");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[1].key = "low"; }), "key");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[1].config_key = ""; }), "config_key");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[0].least = 1e10; }), "range");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[2].most = 0x1p54; }), "range");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[1].otherwise = 0; }), "otherwise");
  EXPECT_EQ(with([](FrequencyRule& r) { r.parameters[0].at_most = "far"; }), "at_most");
  FrequencyRule wrong = right_rule();
  wrong.inv_freq = [](const RuleInput&) { return std::vector<double>{7}; };
  EXPECT_FALSE(frequencies_hold(wrong));
  wrong.inv_freq = [](const RuleInput& in) {
    return std::vector<double>(static_cast<std::size_t>(in.rotary_dim), 1);
  };
  EXPECT_FALSE(frequencies_hold(wrong));
  wrong = right_rule();
  wrong.attention_scale = [](const RuleInput&) { return 0.0; };
  EXPECT_FALSE(frequencies_hold(wrong));
}

TEST(FrequencyRule, WhatItCannotBeGivenIsNamed) {
  FrequencyRule rule = right_rule();
  rule.least_rotary_dim = 4;
  rule.theta_above = 1;
  rule.parameters.push_back({.key = "each", .config_key = "each", .least = 0, .list = true});
  const auto fault = [&](const std::vector<double>& values, double theta = 10000,
                         std::int64_t rotary_dim = 4) {
    const auto found = rule_fault(rule, theta, rotary_dim, values);
    return found ? found->key + ": " + found->what : "none";
  };
  EXPECT_EQ(fault({1, 4, 7, 0, 9}), "none");
  EXPECT_EQ(fault({0.5, 1e9, 100, 0, 9}), "none");
  EXPECT_EQ(fault({4, 4, 7, 0, 9}), "none");
  EXPECT_EQ(fault({0.4, 4, 7, 0, 9}), "low: low is 0.4; it must be 0.5 to 1e9 and at most high");
  EXPECT_EQ(fault({NAN, 4, 7, 0, 9}), "low: low is nan; it must be 0.5 to 1e9 and at most high");
  EXPECT_EQ(fault({4.5, 4, 7, 0, 9}), "low: low is 4.5; it must be 0.5 to 1e9 and at most high");
  EXPECT_EQ(fault({1, INFINITY, 7, 0, 9}), "high: high is inf; it must be 0.5 to 1e9");
  EXPECT_EQ(fault({1, 4, 7.5, 0, 9}), "turns: turns is 7.5; it must be an integer from 1 to 100");
  EXPECT_EQ(fault({1, 4, 7, 0, -1}), "each: each is -1; it must be 0 to 1e9");
  EXPECT_EQ(fault({1, 4, 7, 0}), "scaling_values: scaling right needs 5 scaling_values, got 4");
  EXPECT_EQ(fault({1, 4, 7, 0}, 10000, 2), "rotary_dim: rotary_dim is 2; right needs at least 4");
  EXPECT_EQ(fault({1, 4, 7, 0, 9}, 1), "rope_theta: rope_theta is 1; right needs more than 1");
  for (const auto call : {rule_frequencies, rule_frequencies_f32})
    EXPECT_THROW(call(rule, 10000, 4, std::vector<double>{5, 4, 7, 0, 9}), std::invalid_argument);
  EXPECT_THROW(rule_scale(rule, 10000, 4, std::vector<double>{1, 4}), std::invalid_argument);
}

TEST(FrequencyRule, ItsParametersAreFoundByTheirKeys) {
  FrequencyRule rule = right_rule();
  rule.parameters.insert(rule.parameters.begin(), {.key = "each", .config_key = "e", .list = true});
  const std::vector<double> values = {5, 6, 1, 4, 7};
  const RuleInput in{rule, 10000, 4, values};
  EXPECT_EQ(value_count(rule, 4), 5U);
  EXPECT_EQ(in.list("each")[1], 6);
  EXPECT_EQ(in.number("low"), 1);
  EXPECT_EQ(in.number("turns"), 7);
  EXPECT_THROW((void)in.number("mscale"), std::logic_error);
}

TEST(FrequencyRule, TheF32FormIsRoundedOnceUnlessTheRuleHasItsOwn) {
  FrequencyRule rule = right_rule();
  const std::vector<double> values = {1, 4, 7};
  EXPECT_EQ(rule_frequencies(rule, 10000, 2, values)[0], 1.0 / 3);
  EXPECT_EQ(rule_frequencies_f32(rule, 10000, 2, values)[0], static_cast<double>(1.0F / 3));
  rule.inv_freq_f32 = [](const RuleInput&) { return std::vector<double>{0.25}; };
  EXPECT_EQ(rule_frequencies_f32(rule, 10000, 2, values)[0], 0.25);
}

}  // namespace
}  // namespace ropewalk
