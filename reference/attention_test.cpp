#include "reference/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "reference/real.h"

namespace ropewalk {
namespace {

Real real_of(const DoubleDouble& x) {
  return Real(x.hi) + Real(x.lo);
}

// A second derivation: MPFR's exp with 100 digits.
TEST(Attention, ExpIsRight) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const double hi = -std::ldexp(static_cast<double>(random() >> 11), -53 + i % 60 - 50);
    if (hi < -600) continue;
    const DoubleDouble x = two_sum(hi, hi * 0x1.9p-54);
    const Real exact = exp(real_of(x));
    EXPECT_LT(abs(real_of(exp_of_negative(x)) / exact - 1), ldexp(Real(1), -90)) << hi;
  }
  EXPECT_EQ(exp_of_negative(0).hi, 1);
  EXPECT_EQ(exp_of_negative(-1e308).hi, 0);
  // The control: an error of 2^-90, which is 2^-88.5 of 1 / e.
  const DoubleDouble e = exp_of_negative(-1), planted{e.hi, e.lo + 0x1p-90};
  EXPECT_GT(abs(real_of(planted) / exp(Real(-1)) - 1), ldexp(Real(1), -89));
}

TEST(Attention, QuotientsAreRight) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 1000; ++i) {
    const DoubleDouble a = two_product(static_cast<double>(random()), 1 + 0x1p-40),
                       b = two_product(static_cast<double>(random()), 1 - 0x1p-41);
    EXPECT_LT(abs(real_of(a / b) * real_of(b) / real_of(a) - 1), ldexp(Real(1), -98));
  }
}

TEST(Attention, WeightsSumToOne) {
  const Values values{{1.0, 2.0}, {1.0, 4.0}, {1.0, -7.0}};
  const Numbers out = softmax_attention({-3.0, 700.0, 699.0}, values).value();
  EXPECT_LT(std::abs(static_cast<double>(out[0] - 1.0)), 0x1p-88);
  const double weight = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(static_cast<double>(out[1]), weight * 4 - (1 - weight) * 7, 1e-14);
  const Numbers only = softmax_attention({-1e300}, values).value();
  EXPECT_EQ(static_cast<double>(only[1]), 2);
}

TEST(Attention, AMaskThatLeavesNothingIsSaid) {
  EXPECT_FALSE(softmax_attention({}, {{1.0, 2.0}}).has_value());
  EXPECT_FALSE(softmax_attention({}, {}).has_value());
  EXPECT_TRUE(linear_numerator({}, {{1.0, 2.0}}).empty());
  EXPECT_TRUE(LinearState().read({1.0, 1.0}).empty());
}

DoubleDouble dot(const Numbers& a, const Numbers& b) {
  DoubleDouble sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum = sum + a[i] * b[i];
  return sum;
}

using Pairs = std::vector<std::complex<double>>;

Numbers components(const Pairs& pairs) {
  Numbers out;
  for (const auto& x : pairs) out.insert(out.end(), {x.real(), x.imag()});
  return out;
}

Pairs turned(const Pairs& pairs, double position) {
  Pairs out;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    out.push_back(pairs[i] *
                  std::polar(1.0, position * std::pow(10000.0, -double(i) / double(pairs.size()))));
  return out;
}

// RoFormer, eq. 19, rotates the numerator alone. Its denominator has no position at all, and is
// positive where phi is. Were it rotated too, it would be a sum of cosines: negative for many.
TEST(Attention, TheDenominatorIsPositiveAndMayNotBeRotated) {
  std::mt19937_64 random(9);
  const auto phi = [&] { return 1e-3 + std::ldexp(static_cast<double>(random() >> 11), -53); };
  int negative = 0;
  constexpr int draws = 1000;
  for (int draw = 0; draw < draws; ++draw) {
    Pairs q(2), k(2);
    for (auto* each : {&q, &k})
      for (auto& x : *each) x = {phi(), phi()};
    EXPECT_GT(dot(components(q), components(k)).hi, 0);
    const double distance = static_cast<double>(random() % 4096);
    if (dot(components(turned(q, distance)), components(k)).hi < 0) ++negative;
  }
  EXPECT_GT(negative, draws / 10);
}

TEST(Attention, TheRecurrentFormIsTheQuadraticOne) {
  std::mt19937_64 random(10);
  const auto number = [&] { return std::ldexp(static_cast<double>(random() >> 11), -52) - 1; };
  LinearState state;
  Numbers dots;
  Values values;
  const Numbers q{number(), number(), number(), number()};
  double lengths = 0;
  for (int n = 0; n < 100; ++n) {
    const Numbers k{number(), number(), number(), number()};
    values.push_back({number(), number()});
    state.add(k, values.back());
    dots.push_back(dot(q, k));
    lengths += length(k) * length(values.back());
    const Numbers quadratic = linear_numerator(dots, values), recurrent = state.read(q);
    for (std::size_t e = 0; e < 2; ++e)
      EXPECT_LT(std::abs(static_cast<double>(quadratic[e] - recurrent[e])),
                (n + 6) * 0x1p-100 * 2 * lengths);
  }
}

}  // namespace
}  // namespace ropewalk
