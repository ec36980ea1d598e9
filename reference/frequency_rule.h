// A frequency rule says how a model stretches its frequencies. Each rule has a file of its own in
// frequency_rules/ and registers itself. A new rule is one new file there, and nothing else.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

/// A number that a model gives to its rule, or a list with a number for each pair.
struct RuleParameter {
  std::string_view key;           ///< in a workload file
  std::string_view config_key;    ///< in rope_scaling or rope_parameters of a config.json
  std::string_view meaning = {};  ///< in errors; empty: the key
  double least = 1, most = 1e9;   ///< inclusive
  bool count = false;             ///< an integer
  bool list = false;              ///< rotary_dim / 2 numbers, of which each lies in the range
  /// The key of a parameter of the same rule that must not be smaller; empty: none.
  std::string_view at_most = {};
  /// The value where a model gives none; without it, a model must give one.
  std::optional<double> otherwise = std::nullopt;
};

/// Parameters of several rules.
inline constexpr RuleParameter factor_parameter = {
    .key = "scaling_factor", .config_key = "factor", .meaning = "the scaling factor"};
inline constexpr RuleParameter original_parameter = {
    .key = "original_positions",
    .config_key = "original_max_position_embeddings",
    .meaning = "the original context",
    .most = 0x1p31,
    .count = true};
/// 0: a context within the original one.
inline constexpr RuleParameter context_parameter = {.key = "context",
                                                    .config_key = "context",
                                                    .meaning = "the context",
                                                    .least = 0,
                                                    .most = 0x1p31,
                                                    .count = true,
                                                    .otherwise = 0};
/// 0: the model gives none.
inline constexpr RuleParameter attention_parameter = {.key = "attention_factor",
                                                      .config_key = "attention_factor",
                                                      .least = 0,
                                                      .most = 1e6,
                                                      .otherwise = 0};

struct FrequencyRule;

/// What a rule is given. `values` has the parameters in their order, a list element by element.
struct RuleInput {
  const FrequencyRule& rule;
  double rope_theta;
  std::int64_t rotary_dim;
  std::span<const double> values;

  /// The value of a parameter by its key. Throws std::logic_error if the rule has none of that key.
  double number(std::string_view key) const { return list(key).front(); }
  /// Its values: [rotary_dim / 2] for a list, else one.
  std::span<const double> list(std::string_view key) const;
};

/// Computes inv_freq, [rotary_dim / 2], finite and in [0, 2 pi]. Each is the double that is nearest
/// to the real number of the formula, with the parameters as they are.
/// Range: that of inverse_frequencies(), and rule_fault() finds none.
using FrequencyFunction = std::vector<double> (*)(const RuleInput& in);

struct FrequencyRule {
  std::string_view name;  ///< [a-z0-9_]+; `scaling` in a workload file
  /// `rope_type` or `type` in a config.json; empty for a rule that is chosen by its name alone
  std::vector<std::string_view> config_types = {};
  std::vector<RuleParameter> parameters = {};
  FrequencyFunction inv_freq = nullptr;
  /// What a kernel of ROPE_CONTRACT_F32_ANGLE is given; NULL: inv_freq, rounded once to f32.
  FrequencyFunction inv_freq_f32 = nullptr;
  /// The factor on cos and sin, above 0; NULL: 1.
  double (*attention_scale)(const RuleInput& in) = nullptr;
  std::int64_t least_rotary_dim = 2;
  double theta_above = 0;  ///< rope_theta must be larger
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

/// How many values the parameters have together.
std::size_t value_count(const FrequencyRule& rule, std::int64_t rotary_dim);

struct RuleFault {
  std::string key;   ///< of the parameter; or rope_theta, rotary_dim or scaling_values
  std::string what;  ///< the whole complaint
};
/// The first thing that the rule cannot be given.
std::optional<RuleFault> rule_fault(const FrequencyRule& rule, double rope_theta,
                                    std::int64_t rotary_dim, std::span<const double> values);

/// inv_freq by the rule, the f32 values widened to double, and the factor on cos and sin. They
/// throw std::invalid_argument for what rule_fault() finds.
std::vector<double> rule_frequencies(const FrequencyRule& rule, double rope_theta,
                                     std::int64_t rotary_dim, std::span<const double> values);
std::vector<double> rule_frequencies_f32(const FrequencyRule& rule, double rope_theta,
                                         std::int64_t rotary_dim, std::span<const double> values);
double rule_scale(const FrequencyRule& rule, double rope_theta, std::int64_t rotary_dim,
                  std::span<const double> values);

}  // namespace ropewalk
