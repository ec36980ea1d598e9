// A frequency rule says how a model stretches its frequencies. Each rule has a file of its own in
// frequency_rules/ and registers itself. A new rule is one new file there, and nothing else.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ropewalk {

/// A number that a model gives to its rule.
struct RuleParameter {
  std::string_view key;           ///< in a workload file
  std::string_view config_key;    ///< in rope_scaling or rope_parameters of a config.json
  std::string_view meaning = {};  ///< in errors; empty: the key
  double least = 1, most = 1e9;   ///< inclusive
  bool count = false;             ///< an integer of at least 1
  /// The key of a parameter of the same rule that must be larger; empty: none.
  std::string_view below = {};
  /// The value where a model gives none; without it, a model must give one.
  std::optional<double> otherwise = std::nullopt;
};

/// Computes inv_freq, [rotary_dim / 2], finite and in [0, 2 pi].
/// Range: that of inverse_frequencies(); `values` holds the rule's parameters in their order, and
/// wrong_parameter() finds no fault in them.
using FrequencyFunction = std::vector<double> (*)(double rope_theta, std::int64_t rotary_dim,
                                                  std::span<const double> values);

struct FrequencyRule {
  std::string_view name;                       ///< [a-z0-9_]+; `scaling` in a workload file
  std::vector<std::string_view> config_types;  ///< `rope_type` or `type` in a config.json
  std::vector<RuleParameter> parameters = {};
  FrequencyFunction inv_freq = nullptr;
  /// What a kernel of ROPE_CONTRACT_F32_ANGLE is given; NULL: inv_freq, rounded once to f32.
  FrequencyFunction inv_freq_f32 = nullptr;
};

/// A constant of this class in a rule's file registers the rule for the whole run.
class RegisteredRule {
 public:
  explicit RegisteredRule(const FrequencyRule& rule);
};

/// All rules, sorted by name.
const std::vector<const FrequencyRule*>& all_frequency_rules();

/// NULL: no rule has that name, or that word in a config.json.
const FrequencyRule* find_frequency_rule(std::string_view name);
const FrequencyRule* find_rule_of_config(std::string_view type);

/// The first parameter with a value that the rule cannot be given; NULL: there is none. `values`
/// are as many as the rule has parameters.
const RuleParameter* wrong_parameter(const FrequencyRule& rule, std::span<const double> values);

/// inv_freq by the rule, and the f32 values widened to double. Throws std::invalid_argument for
/// values that the rule cannot be given.
std::vector<double> rule_frequencies(const FrequencyRule& rule, double rope_theta,
                                     std::int64_t rotary_dim, std::span<const double> values);
std::vector<double> rule_frequencies_f32(const FrequencyRule& rule, double rope_theta,
                                         std::int64_t rotary_dim, std::span<const double> values);

}  // namespace ropewalk
