#include "reference/frequencies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

namespace ropewalk {
namespace {

TEST(Frequencies, EqualPublishedValuesBitForBit) {
  // rope_theta^(-2 pair / rotary_dim), computed with mpmath at 500 bits and rounded to double.
  struct Value {
    double rope_theta;
    std::int64_t rotary_dim;
    std::size_t pair;
    double inv_freq;
  };
  for (const Value& v : {Value{10000, 2, 0, 1.0},
                         {10000, 64, 16, 0.01},
                         {10000, 128, 1, 0.8659643233600653},
                         {10000, 128, 63, 0x1.e459c57e28a47p-14},
                         {500000, 128, 1, 0x1.a115829457fbep-1},
                         {500000, 128, 63, 0x1.4985fec80a8cbp-19},
                         {100, 64, 31, 0x1.7a66224a8fc07p-7},
                         {8e6, 256, 77, 0x1.2722681df896dp-14}})
    EXPECT_EQ(inverse_frequencies(v.rope_theta, v.rotary_dim)[v.pair], v.inv_freq)
        << v.rope_theta << " " << v.rotary_dim << " " << v.pair;
}

TEST(Frequencies, PowersOfTwoAreExact) {
  const auto inv_freq = inverse_frequencies(65536, 32);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(inv_freq[i], std::ldexp(1.0, -static_cast<int>(i)));
}

TEST(Frequencies, FallFromOneForEveryBase) {
  for (const double rope_theta : {100.0, 10000.0, 500000.0, 1e7})
    for (const std::int64_t rotary_dim : {2, 6, 64, 80, 256}) {
      const auto inv_freq = inverse_frequencies(rope_theta, rotary_dim);
      ASSERT_EQ(inv_freq.size(), static_cast<std::size_t>(rotary_dim / 2));
      EXPECT_EQ(inv_freq[0], 1);
      for (std::size_t i = 1; i < inv_freq.size(); ++i) EXPECT_LT(inv_freq[i], inv_freq[i - 1]);
      EXPECT_GT(inv_freq.back(), 1 / rope_theta);
    }
  for (const double one : inverse_frequencies(1, 8)) EXPECT_EQ(one, 1);
}

// Rounding the exponent (at most 1, so by 2^-25) adds ln(10000) 2^-25 < 5 units of 2^-24. powf and
// the division add about one unit each. A limit of 12 units leaves room for any libm.
TEST(Frequencies, TheF32FormIsAFloatNearTheExactOne) {
  const auto exact = inverse_frequencies(10000, 128);
  const auto f32 = inverse_frequencies_f32(10000, 128);
  ASSERT_EQ(f32.size(), exact.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(f32[i], static_cast<double>(static_cast<float>(f32[i])));
    EXPECT_NEAR(f32[i] / exact[i], 1, 12 * 0x1p-24);
    different += static_cast<float>(f32[i]) != static_cast<float>(exact[i]) ? 1U : 0U;
  }
  EXPECT_GT(different, 0U);  // not the rounded power, so it has a contract of its own
  std::cout << different << " of 64 pairs differ from the rounded power\n";
}

}  // namespace
}  // namespace ropewalk
