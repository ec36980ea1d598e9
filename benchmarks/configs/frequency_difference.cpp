#include "benchmarks/configs/frequency_difference.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/text_file.h"
#include "reference/frequencies.h"

namespace ropewalk::bench {
namespace {

// An angle in rad, or in turns where it is more than one.
std::string angle_text(double angle) {
  const double turns = angle / (2 * std::numbers::pi);
  return turns > 1 ? fmt::format("{:.4g} turns", turns) : fmt::format("{:.3g} rad", angle);
}

// Half a unit of the last digit: 0.00005 for "1.0000", 0.000005 for "7.4989e-01".
double half_digit(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = number.substr(0, e).find('.');
  int power = 0;
  if (e < number.size())
    std::from_chars(number.data() + e + (number[e + 1] == '+' ? 2 : 1),
                    number.data() + number.size(), power);
  const auto decimals = point == number.npos ? 0 : static_cast<int>(e - point - 1);
  return 0.5 * std::pow(10.0, power - decimals);
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

std::vector<std::string> difference_lines(std::span<const double> a, std::span<const double> b,
                                          const FrequencyDifference& difference,
                                          const std::string& a_name, const std::string& b_name) {
  std::vector<std::string> out;
  out.push_back(fmt::format("{} of {} pairs differ", difference.count, b.size()));
  const auto add = [&](const char* what, std::size_t i) {
    std::string line =
        fmt::format("{} pair {}: {} in {}, {} in {}", what, i, a[i], a_name, b[i], b_name);
    if (a[i] != 0 && b[i] != 0) line += fmt::format(" (x {:.6g})", b[i] / a[i]);
    out.push_back(line);
    std::vector<std::string> angles;
    for (const int power : {10, 12, 14, 16, 18, 20})
      angles.push_back(
          fmt::format("{} at 2^{}", angle_text(std::ldexp(std::abs(a[i] - b[i]), power)), power));
    out.push_back(fmt::format("  the angles are apart by {}", fmt::join(angles, ", ")));
  };
  add("first:", difference.first);
  if (difference.largest != difference.first) add("largest:", difference.largest);
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
    if (!number || !std::isfinite(value))
      throw BadFile(fmt::format("{}: '{}' is no finite number", file, shown(word, 40)));
    out.values.push_back(value);
    out.half_digits.push_back(rounds ? half_digit(word) : 0);
  }
  return out;
}

}  // namespace ropewalk::bench
