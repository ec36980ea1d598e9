// For tests of the frequency rules: each rule against a second derivation of it, in 200 digits of
// another backend than reference/real.h has. A derivation reads what a model gives by name and
// knows nothing of the rule.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/frequency_rule.h"

namespace ropewalk {

using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<200>,
                                           boost::multiprecision::et_off>;

/// ln(x) for x > 0 by Halley's steps on e^y, each of which triples the digits of a double. Boost's
/// own log is a finding of clang-tidy.
inline Wide natural_log(const Wide& x) {
  Wide y = std::log(x.convert_to<double>());
  for (int step = 0; step < 3; ++step) {
    const Wide power = exp(y);
    y += 2 * (x - power) / (x + power);
  }
  return y;
}

/// What a model gives, by the keys of a workload file. A key that is missing is not given.
struct GivenToRule {
  double theta;
  std::int64_t dim;
  std::map<std::string_view, std::vector<double>> lists = {};

  double get(std::string_view key, double otherwise = 0) const {
    const auto found = lists.find(key);
    return found == lists.end() ? otherwise : found->second.front();
  }
};

struct StretchedPairs {
  std::vector<double> inv_freq;
  double scale = 1;
  bool operator==(const StretchedPairs&) const = default;
};

/// `error` names what is planted; empty: nothing.
using Derivation = StretchedPairs (*)(const GivenToRule& given, std::string_view error);

/// The positions in which each pair turns by 1 rad, e^(2i ln(theta) / dim), each from the one
/// before. The last of 128 is off by less than 2^-650 of itself.
inline std::vector<Wide> radian_lengths(const Wide& log_theta, std::int64_t dim) {
  const Wide ratio = exp(2 * log_theta / dim);
  std::vector<Wide> out = {1};
  while (out.size() < static_cast<std::size_t>(dim / 2)) out.push_back(out.back() * ratio);
  return out;
}

inline std::vector<Wide> radian_lengths(const GivenToRule& given) {
  return radian_lengths(natural_log(given.theta), given.dim);
}

/// Seeded numbers, the same everywhere.
class SeededDraw {
 public:
  explicit SeededDraw(std::uint64_t seed) : bits_(seed) {}
  std::int64_t below(std::uint64_t end) { return static_cast<std::int64_t>(bits_() % end); }
  double count_below(std::uint64_t end) { return static_cast<double>(below(end)); }
  double of(std::initializer_list<double> list) {
    return list.begin()[static_cast<std::size_t>(below(list.size()))];
  }
  double between(double low, double high) {
    return low + (high - low) * count_below(1U << 30U) * 0x1p-30;
  }
  /// A base that models have, or any from 1.5 to 1e8; 4 to 256 elements.
  GivenToRule base() {
    const double real = of({1e4, 1e5, 150000, 5e5, 1e6, 1e7});
    const double any = std::ldexp(between(1, 2), static_cast<int>(below(27)));
    return {below(2) == 0 ? real : std::clamp(any, 1.5, 1e8), 4 + 2 * below(127)};
  }
  double factor() { return of({1, 2, 4, 8, 32, 40, between(1, 2), between(1, 100)}); }
  double length() {
    return of({2048, 4096, 8192, 32768, 2 + count_below(1000), 2 + count_below(1U << 20U)});
  }
  /// A context below, at and above the original one.
  double context(double original) {
    return of({std::floor(original / 2), original - 1, original, original + 1, 4 * original,
               original + count_below(1U << 20U)});
  }

 private:
  std::mt19937_64 bits_;
};

inline std::vector<double> values_of(const FrequencyRule& rule, const GivenToRule& given) {
  std::vector<double> values;
  for (const RuleParameter& p : rule.parameters) {
    const auto found = given.lists.find(p.key);
    if (found == given.lists.end())
      values.push_back(p.otherwise.value());
    else
      values.insert(values.end(), found->second.begin(), found->second.end());
  }
  return values;
}

inline StretchedPairs by_rule(std::string_view name, const GivenToRule& given) {
  const FrequencyRule& rule = *find_frequency_rule(name);
  const auto values = values_of(rule, given);
  return {rule_frequencies(rule, given.theta, given.dim, values),
          rule_scale(rule, given.theta, given.dim, values)};
}

/// The key that a rule refuses; empty: none.
inline std::string refused_key(std::string_view name, const GivenToRule& given) {
  const FrequencyRule& rule = *find_frequency_rule(name);
  const auto fault = rule_fault(rule, given.theta, given.dim, values_of(rule, given));
  return fault ? fault->key : "";
}

/// On 200 seeded configs, the rule and its derivation have the same doubles, and each planted error
/// shows in at least one config.
inline void expect_equal(std::string_view rule, GivenToRule (*draw)(SeededDraw&),
                         Derivation derivation, std::initializer_list<std::string_view> errors) {
  const auto first_that_differs = [&](std::string_view error) {
    SeededDraw seeded(20230831);
    int config = 0;
    for (; config < 200; ++config) {
      const GivenToRule given = draw(seeded);
      if (by_rule(rule, given) != derivation(given, error)) break;
    }
    return config;
  };
  EXPECT_EQ(first_that_differs(""), 200) << rule;
  for (const std::string_view error : errors)
    EXPECT_LT(first_that_differs(error), 200) << rule << ": " << error;
}

/// How far the rule is from published f32 frequencies of some pairs, at most, in u = 2^-24 of each.
inline double distance_in_u(std::string_view rule, const GivenToRule& given,
                            const std::vector<std::size_t>& pairs,
                            const std::vector<float>& published) {
  const auto inv_freq = by_rule(rule, given).inv_freq;
  EXPECT_EQ(pairs.size(), published.size());
  double largest = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double exact = inv_freq.at(pairs[i]);
    const double off = std::abs(static_cast<double>(published.at(i)) - exact);
    largest = std::max(largest, off == 0 ? 0 : off / exact * 0x1p24);
  }
  return largest;
}

}  // namespace ropewalk
