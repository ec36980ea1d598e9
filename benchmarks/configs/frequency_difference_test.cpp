#include "benchmarks/configs/frequency_difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "base/text_file.h"
#include "kernels/api/types.h"
#include "reference/frequencies.h"

namespace ropewalk::bench {
namespace {

harness::Case model_of(double theta, const std::string& scaling, std::vector<double> values,
                       std::int64_t rotary_dim = 64) {
  harness::Case model;
  model.rotary_dim = rotary_dim, model.rope_theta = theta;
  model.scaling = scaling, model.scaling_values = std::move(values);
  return model;
}

TEST(FrequencyDifference, TellsTheFirstAndTheLargestPair) {
  const std::vector<double> a = {1, 0.5, 0.25, 0}, b = {1, 0.5 + 0x1p-20, 0.125, 0.01};
  const FrequencyDifference found = difference_of(a, b);
  EXPECT_EQ(std::tuple(found.count, found.first, found.largest), std::tuple(3U, 1U, 2U));
  const auto facts = difference_facts(a, b, found, "A", "B");
  ASSERT_EQ(facts.size(), 5U);
  EXPECT_EQ(facts[0].second, "3 of 4 pairs differ");
  EXPECT_NE(facts[2].second.find("0.000977 rad at 2^10,"), std::string::npos) << facts[2].second;
  EXPECT_NE(facts[2].second.find("1 rad at 2^20"), std::string::npos) << facts[2].second;
  EXPECT_EQ(facts[3].first, "largest");
  EXPECT_EQ(facts[3].second, "pair 2: 0.25 in A, 0.125 in B (x 0.5)");
  EXPECT_NE(facts[4].second.find("20.37 turns at 2^10"), std::string::npos) << facts[4].second;
  EXPECT_EQ(difference_of(a, a).count, 0U);
}

// The f32 numbers of training code are within the rounding; a pair that is off by 1e-5 is not.
TEST(FrequencyDifference, AllowsTheRoundingOfF32AndNoMore) {
  for (const std::int64_t rotary_dim : {64, 96, 128})
    for (const double theta : {1e4, 5e5, 1e7}) {
      const auto exact = inverse_frequencies(theta, rotary_dim);
      auto narrow = inverse_frequencies_f32(theta, rotary_dim);
      const auto allowed = f32_rounding(model_of(theta, "none", {}, rotary_dim));
      EXPECT_EQ(difference_of(narrow, exact, allowed).count, 0U) << theta << " " << rotary_dim;
      narrow[3] *= 1 + 1e-5;
      EXPECT_EQ(difference_of(narrow, exact, allowed).first, 3U);
    }
}

// A ramp blends two frequencies, which costs as much more as they are apart.
TEST(FrequencyDifference, AllowsMoreWhereARuleBlends) {
  const auto yarn = f32_rounding(model_of(1e4, "yarn", {32, 4096, 32, 1, 0, 0, 0, 0}));
  EXPECT_NEAR((yarn.front() * 0x1p24), 6, 1e-9) << "the first pair is kept";
  const auto plain = f32_rounding(model_of(1e4, "none", {}));
  EXPECT_NEAR((yarn.back() - plain.back()) * 0x1p24, 64, 1e-9);
}

TEST(FrequencyDifference, ReadsListsAsPythonPrintsThem) {
  const std::vector<double> wanted = {1, 0.5, 1e-7};
  for (const char* text :
       {"[1.0, 0.5, 1e-07]", "1\n.5\n1e-7\n", "inv_freq = [1, 0.5, 1e-7]",
        "tensor([1.0000e+00, 5.0000e-01, 1.0000e-07], device='cuda:0', dtype=torch.float64)\n",
        "Parameter containing:\ntensor([1.0000e+00, 5.0000e-01, 1.0000e-07])",
        "array([1.e+00, 5.e-01, 1.e-07], dtype=float32)"})
    EXPECT_EQ(parse_frequencies(text, "FILE").values, wanted) << text;
  EXPECT_TRUE(parse_frequencies("[]", "FILE").values.empty());
  for (const char* text : {"1, two", "[1e999]", "0x10", "1 tensor", "1;2"})
    EXPECT_THROW(parse_frequencies(text, "FILE"), BadFile) << text;
}

TEST(FrequencyDifference, ATensorIsPrintedRounded) {
  const auto of = [](const char* text) { return parse_frequencies(text, "FILE").half_digits; };
  EXPECT_EQ(of("[0.75, 7.5e-1]"), (std::vector<double>{0, 0}));
  const auto printed = of("tensor([7.4989e-01, 0.0100, 3., 12, 1.5e+02])");
  const double wanted[] = {5e-6, 5e-5, 0, 0, 5};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(printed[i], wanted[i], 1e-12 * wanted[i]) << i;
}

TEST(FrequencyDifference, ZerosAreExactWhereTheyMustBe) {
  const auto of = [](const char* text) { return parse_frequencies(text, "FILE").half_digits; };
  EXPECT_EQ(of("tensor([0., 0., 1.])"), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(of("tensor([0.0000e+00, 0.0000e+00])"), (std::vector<double>{0, 0}));
  EXPECT_EQ(of("tensor([0.0000, 1.0000])"), (std::vector<double>{5e-5, 5e-5}));
}

/// What a list of a model's frequencies, each changed by `store`, is to the model in question. With
/// one pair changed more, no account may fit.
template <class Store>
std::string account(const harness::Case& listed, const harness::Case& model, Store store,
                    double half_digit = 0) {
  PrintedFrequencies numbers;
  for (const double each : harness::frequencies_of(listed)) numbers.values.push_back(store(each));
  numbers.half_digits.assign(numbers.values.size(), half_digit);
  const std::string out = account_of(numbers, model);
  numbers.values[5] += 4 * half_digit + numbers.values[5] / 64;
  EXPECT_EQ(account_of(numbers, model), "") << out;
  return out.substr(0, 29) == "these are the frequencies of " ? out.substr(29) : out;
}

TEST(FrequencyDifference, AnAccountFitsEveryPair) {
  const auto f32 = [](double x) { return double(float(x)); };
  const auto bf16 = [](double x) { return double(Bf16(float(x))); };
  const auto f16 = [](double x) { return double(F16(float(x))); };
  const auto digits = [](double x) { return std::round(x * 1e4) / 1e4; };
  const std::vector<double> values = {32, 4096, 32, 1, 0, 0, 0, 1};
  const harness::Case plain = model_of(5e5, "none", {}), yarn = model_of(5e5, "yarn", values),
                      usual = model_of(1e4, "none", {});
  const std::string within = ", within the rounding of f32";
  EXPECT_EQ(account(plain, plain, bf16), "this model, rounded to bf16");
  EXPECT_EQ(account(yarn, yarn, f16), "this model, rounded to f16");
  EXPECT_EQ(account(plain, yarn, f32), "this model without the rule yarn" + within);
  EXPECT_EQ(account(plain, usual, f32), "theta 500000" + within);
  EXPECT_EQ(account(plain, usual, bf16), "theta 500000, rounded to bf16");
  EXPECT_EQ(account(model_of(85550, "none", {}), yarn, f32),
            "theta 85550 without the rule yarn" + within);
  EXPECT_EQ(account(model_of(1e4, "yarn", values), yarn, f32),
            "theta 10000 with the rule yarn" + within);
  EXPECT_EQ(account(model_of(5e5, "linear", {32}), yarn, f32),
            "this model with the rule linear" + within);
  EXPECT_EQ(account(usual, plain, digits, 5e-5),
            "theta 10000" + within + ", as far as they were printed");
  EXPECT_EQ(account(model_of(5e5, "linear", {7}), plain, f32), "");
  const harness::Case llama3 = model_of(5e5, "llama3", {8, 1, 4, 8192});
  PrintedFrequencies exchanged{harness::frequencies_of(plain), std::vector<double>(32, 0)};
  for (double& each : exchanged.values)
    if (8192 * each / (2 * std::numbers::pi) <= 1) each /= 8;
  EXPECT_EQ(account_of(exchanged, llama3),
            "these are the frequencies of this model with its ramp turned around" + within);
  const harness::Case blended = model_of(1e4, "yarn", {4, 8192, 32, 1, 0, 0, 0, 1});
  const auto right = harness::frequencies_of(blended);
  for (std::size_t i = 0; i < right.size(); ++i)  // the shares of the divided and of the others
    exchanged.values[i] = 1.25 * std::pow(1e4, -static_cast<double>(i) / 32) - right[i];
  EXPECT_EQ(account_of(exchanged, blended),
            "these are the frequencies of this model with its blend turned around" + within);
  for (const double small : {0.0, 4.2e-38})
    EXPECT_EQ(account_of({std::vector<double>(32, small), std::vector<double>(32, 0)}, plain),
              "these are zero, or below 1e-30: nothing turns");
  exchanged.values[3] = INFINITY;
  EXPECT_EQ(account_of(exchanged, llama3), "");
  EXPECT_EQ(account_of({{1, 0.01}, {0, 0}}, model_of(5e5, "none", {}, 4)), "")
      << "any number is a power of some base";
}

}  // namespace
}  // namespace ropewalk::bench
