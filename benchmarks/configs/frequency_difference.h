// Compares the frequencies of two models, or of a model with numbers from elsewhere.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/configs/config_answer.h"
#include "harness/cases/case.h"

namespace ropewalk::bench {

/// What differs between two lists of inv_freq of the same length.
struct FrequencyDifference {
  std::size_t first = 0, largest = 0;  ///< pairs; the largest by the size of the difference
  std::size_t count = 0;               ///< of the pairs that differ; 0: none does
};

/// `allowed`: by how much two frequencies may be apart, each as a share of the second; empty: they
/// must be equal.
FrequencyDifference difference_of(std::span<const double> a, std::span<const double> b,
                                  std::span<const double> allowed = {});

/// Tells the first and the largest pair that differ, and by what angle after 2^10 to 2^20
/// positions. `a_name` and `b_name` are shown.
NamedTexts difference_facts(std::span<const double> a, std::span<const double> b,
                            const FrequencyDifference& difference, const std::string& a_name,
                            const std::string& b_name);

/// How far the f32 numbers of a model's own code may be from inv_freq, as a share of each pair's.
/// With u = 2^-24 and the exponent x: 4 u for the power, the quotient and two operations of a rule,
/// each rounded once; x ln(theta) u for the rounding of the exponent; and where a rule blends a
/// frequency f with a part of it to g, 2 u f / g for the rounding of the two weights.
std::vector<double> f32_rounding(const harness::Case& model);

/// Numbers as a program printed them.
struct PrintedFrequencies {
  std::vector<double> values;
  /// Half a unit of the last digit of each, if a tensor or an array was printed, which rounds; else
  /// 0, as a list has all digits.
  std::vector<double> half_digits;
};

/// Numbers between commas, brackets and space, as Python prints a list, a tensor or an array, with
/// the words before them and `name=...` among them left out; "inf" and "nan" are numbers. Throws
/// BadFile for other text and for numbers beyond f64. `file` is shown.
PrintedFrequencies parse_frequencies(std::string_view text, const std::string& file);

/// What numbers [rotary_dim / 2] are that differ from a model's own frequencies: "these are the
/// frequencies of theta 10000, within the rounding of f32". Empty unless all of them fit, as
/// precisely as each is given. Tried are zeros, the model's own, rounded to bf16 or f16, and those
/// with an error in its rule, of another base or width, and of another rule with its parameters.
std::string account_of(const PrintedFrequencies& numbers, const harness::Case& model);

}  // namespace ropewalk::bench
