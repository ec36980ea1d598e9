#include "benchmarks/configs/frequency_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/text_file.h"
#include "benchmarks/workloads/workload_shape.h"
#include "kernels/api/types.h"
#include "reference/frequencies.h"

namespace ropewalk::bench {
namespace {

// An angle in rad, or in turns where it is more than one.
std::string angle_text(double angle) {
  const double turns = angle / (2 * std::numbers::pi);
  return turns > 1 ? fmt::format("{:.4g} turns", turns) : fmt::format("{:.3g} rad", angle);
}

// Half a unit of the last digit: 0.00005 for "1.0000", 0.000005 for "7.4989e-01". Whole numbers are
// exact: "0." and "3." are printed of 0 and 3, and with an exponent only 0 itself is printed as 0.
double half_digit(std::string_view number, double value) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = number.substr(0, e).find('.');
  const auto decimals = point == number.npos ? 0 : static_cast<int>(e - point - 1);
  int power = 0;
  if (e < number.size())
    std::from_chars(number.data() + e + (number[e + 1] == '+' ? 2 : 1),
                    number.data() + number.size(), power);
  const bool exact = e < number.size() ? value == 0 : decimals == 0;
  return exact ? 0 : 0.5 * std::pow(10.0, power - decimals);
}

// Monotone. A frequency is computed in f32, whose rounding f32_rounding() allows for.
double stored_in(Dtype type, double value) {
  const auto narrow = static_cast<float>(value);
  return type == Dtype::bf16 ? Bf16(narrow) : type == Dtype::f16 ? F16(narrow) : value;
}

/// Whether the numbers are these frequencies, which a program stores in this type.
bool explains(std::span<const double> exact, std::span<const double> allowed, Dtype type,
              const PrintedFrequencies& numbers) {
  bool out = exact.size() == numbers.values.size();
  for (std::size_t i = 0; out && i < exact.size(); ++i) {
    const double value = numbers.values[i], cut = numbers.half_digits[i] * (1 + 1e-9);  // ties too
    out = value + cut >= stored_in(type, exact[i] * (1 - allowed[i])) &&
          value - cut <= stored_in(type, exact[i] * (1 + allowed[i]));
  }
  return out;
}

/// Bases of 1 to 9 digits, the shortest first, whose plain powers the numbers may be. Each pair but
/// the first bounds the base. At least two must do so: any number is a power of some base.
std::vector<double> bases_of(const PrintedFrequencies& numbers, Dtype type) {
  const Format& format = data_type(type).format;
  double least = 1, most = 1e30;
  std::size_t bounds = 0;
  for (std::size_t i = 1; i < numbers.values.size(); ++i) {
    const double value = numbers.values[i];
    const double off = numbers.half_digits[i] + format.eta + (format.u + 0x1p-19) * value;
    if (value <= off) continue;  // too small to bound it from above
    const double power = -static_cast<double>(numbers.values.size()) / static_cast<double>(i);
    least = std::max(least, std::pow(value + off, power));
    most = std::min(most, std::pow(value - off, power));
    ++bounds;
  }
  std::vector<double> out;
  for (int digits = 0; digits < 9 && bounds > 1; ++digits) {
    const double base = std::stod(fmt::format("{:.{}e}", std::sqrt(least * most), digits));
    if (least <= base && base <= most) out.push_back(base);
  }
  return out;
}

/// The values for a rule of a model that has another; nothing if they do not suffice.
std::optional<std::vector<double>> values_for(const FrequencyRule& rule,
                                              const harness::Case& model) {
  const FrequencyRule& own = *find_frequency_rule(model.scaling);
  const RuleInput in{own, model.rope_theta, model.rotary_dim, model.scaling_values};
  std::vector<double> out;
  for (const RuleParameter& each : rule.parameters) {
    const auto keys = keys_of(own);
    const bool has = std::ranges::find(keys, each.key) != keys.end();
    if (each.list || !(has || each.otherwise)) return std::nullopt;
    out.push_back(has ? in.number(each.key) : *each.otherwise);
  }
  return out;
}

/// The frequencies of a model with an error in a parameter of its rule, of which rule_fault()
/// refuses some, or over the width of its heads.
std::vector<std::pair<std::string, std::vector<double>>> with_errors(const harness::Case& model) {
  const FrequencyRule& rule = *find_frequency_rule(model.scaling);
  std::vector<std::pair<std::string, std::vector<double>>> out;
  std::vector<double> values = model.scaling_values;
  const RuleInput in{rule, model.rope_theta, model.rotary_dim, values};
  const auto add = [&](const std::string& what) {
    out.emplace_back("this model with " + what, rule.inv_freq(in));
    std::ranges::copy(model.scaling_values, values.begin());
  };
  const auto at = [&](std::string_view key) -> double& {
    return values[static_cast<std::size_t>(in.list(key).data() - values.data())];
  };
  for (const RuleParameter& each : rule.parameters) {
    double& value = at(each.key);
    if (!each.at_most.empty()) std::swap(value, at(each.at_most)), add("its ramp turned around");
    if (each.key == "context" && model.scaling == "longrope")
      value = value > in.number("original_positions") ? 1 : 0x1p31,
      add("its other list of factors");
    if (each.key == "truncate") value = value == 0, add("the other word for truncate");
    if (each.key.ends_with("factor") && !each.list && value > 1 && value != std::floor(value))
      value = std::floor(value), add(fmt::format("{} cut to {}", each.key, value));
  }
  if (model.scaling.starts_with("yarn")) {  // what should be divided is not, and the reverse
    out.emplace_back("this model with its blend turned around", rule.inv_freq(in));
    const auto plain = inverse_frequencies(model.rope_theta, model.rotary_dim);
    for (std::size_t i = 0; i < plain.size(); ++i)
      out.back().second[i] =
          plain[i] + plain[i] / in.number("scaling_factor") - out.back().second[i];
  }
  const std::int64_t size = model.tensors.empty() ? 0 : model.tensors[0].head_dim;
  if (size <= model.rotary_dim) return out;
  out.emplace_back("this model over the width of its heads",
                   inverse_frequencies(model.rope_theta, size));
  out.back().second.resize(static_cast<std::size_t>(model.rotary_dim / 2));
  return out;
}

}  // namespace

FrequencyDifference difference_of(std::span<const double> a, std::span<const double> b,
                                  std::span<const double> allowed) {
  FrequencyDifference out;
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double apart = std::abs(a[i] - b[i]);
    if (apart <= (allowed.empty() ? 0 : allowed[i] * b[i])) continue;
    if (out.count++ == 0) out.first = i;
    if (apart > largest) largest = apart, out.largest = i;
  }
  return out;
}

NamedTexts difference_facts(std::span<const double> a, std::span<const double> b,
                            const FrequencyDifference& difference, const std::string& a_name,
                            const std::string& b_name) {
  NamedTexts out{{"inv_freq", fmt::format("{} of {} pairs differ", difference.count, b.size())}};
  const auto add = [&](const char* what, std::size_t i) {
    out.emplace_back(what,
                     fmt::format("pair {}: {} in {}, {} in {}", i, a[i], a_name, b[i], b_name));
    if (a[i] != 0 && b[i] != 0) out.back().second += fmt::format(" (x {:.6g})", b[i] / a[i]);
    std::vector<std::string> angles;
    if (!std::isfinite(a[i] - b[i])) return;
    for (const int power : {10, 12, 14, 16, 18, 20})
      angles.push_back(
          fmt::format("{} at 2^{}", angle_text(std::ldexp(std::abs(a[i] - b[i]), power)), power));
    out.emplace_back("", fmt::format("the angles are apart by {}", fmt::join(angles, ", ")));
  };
  add("first", difference.first);
  if (difference.largest != difference.first) add("largest", difference.largest);
  return out;
}

std::vector<double> f32_rounding(const harness::Case& model) {
  const bool blends = model.scaling.starts_with("yarn") || model.scaling == "llama3";
  const auto plain = inverse_frequencies(model.rope_theta, model.rotary_dim);
  const auto found = harness::frequencies_of(model);
  std::vector<double> out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(model.rotary_dim);
    out.push_back((4 + exponent * std::log(model.rope_theta)) * 0x1p-24);
    if (blends) out.back() += 2 * 0x1p-24 * plain[i] / found[i];
  }
  return out;
}

PrintedFrequencies parse_frequencies(std::string_view text, const std::string& file) {
  constexpr std::string_view between = " \t\r\n,[]()";
  const bool rounds = text.find("tensor(") != text.npos || text.find("array(") != text.npos;
  PrintedFrequencies out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find_first_of(between));
    text.remove_prefix(word.size());
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool number = error == std::errc{} && end == word.data() + word.size();
    const bool name = std::isalpha(static_cast<unsigned char>(word.front())) != 0;
    if (!number && ((name && out.values.empty()) || word.find('=') != word.npos)) continue;
    if (!number) throw BadFile(fmt::format("{}: '{}' is not a number", file, shown(word, 40)));
    out.values.push_back(value);
    out.half_digits.push_back(rounds ? half_digit(word, value) : 0);
  }
  return out;
}

std::string account_of(const PrintedFrequencies& numbers, const harness::Case& model) {
  constexpr std::array types = {Dtype::f32, Dtype::bf16, Dtype::f16};
  if (std::ranges::all_of(numbers.values, [](double x) { return std::abs(x) < 1e-30; }))
    return "these are zero, or below 1e-30: nothing turns";
  const std::string without = model.scaling == "none" ? "" : " without the rule " + model.scaling;
  std::string out;
  const auto consider = [&](const std::string& what, const harness::Case& other, Dtype type,
                            std::vector<double> exact = {}) {
    const FrequencyRule& rule = *find_frequency_rule(other.scaling);
    if (exact.empty() &&
        !rule_fault(rule, other.rope_theta, other.rotary_dim, other.scaling_values))
      exact = harness::frequencies_of(other);
    if (out.empty() && !exact.empty() && explains(exact, f32_rounding(other), type, numbers))
      out = fmt::format("these are the frequencies of {}, {} {}{}", what,
                        type == Dtype::f32 ? "within the rounding of" : "rounded to",
                        data_type(type).word,
                        numbers.half_digits.front() > 0 ? ", as far as they were printed" : "");
  };
  for (const Dtype type : types) consider("this model", model, type);
  for (const Dtype type : types) {
    harness::Case other = model;
    other.scaling = "none", other.scaling_values.clear();
    consider("this model" + without, other, type);
    for (const auto& [what, changed] : with_errors(model)) consider(what, model, type, changed);
    for (const double base : bases_of(numbers, type)) {
      other.rope_theta = base;
      consider(fmt::format("theta {}{}", base, without), other, type);
    }
    other = model, other.rope_theta = 10000;  // what code takes that finds no rope_theta
    if (!without.empty()) consider("theta 10000 with the rule " + model.scaling, other, type);
    for (const FrequencyRule* rule : all_frequency_rules()) {
      const auto values = values_for(*rule, model);
      if (!values) continue;
      other = model, other.scaling = rule->name, other.scaling_values = *values;
      consider(fmt::format("this model with the rule {}", rule->name), other, type);
    }
  }
  return out;
}

}  // namespace ropewalk::bench
