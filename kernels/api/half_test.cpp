// Compares the 16-bit types with Eigen's, which share no code with them: all 65,536 values, and
// every place where rounding could go wrong.
#include "kernels/api/half.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <type_traits>

namespace ropewalk {
namespace {

template <class Type>
class Half : public testing::Test {
 public:
  using Theirs = std::conditional_t<std::is_same_v<Type, F16>, Eigen::half, Eigen::bfloat16>;
  // The first bits of infinity, and the bit that makes a NaN quiet.
  static constexpr std::uint16_t infinity = std::is_same_v<Type, F16> ? 0x7c00 : 0x7f80;
  static constexpr std::uint16_t quiet = std::is_same_v<Type, F16> ? 0x200 : 0x40;

  static float ours(std::uint16_t bits) {
    Type value;
    value.bits = bits;
    return value;
  }
  static float theirs(std::uint16_t bits) {
    return static_cast<float>(Eigen::numext::bit_cast<Theirs>(bits));
  }
  static bool is_nan(std::uint16_t bits) { return (bits & 0x7fff) > infinity; }

  // Rounds one float to 16 bits, by both.
  static void same_rounding(float value) {
    const std::uint16_t got = Type(value).bits;
    const auto expected = Eigen::numext::bit_cast<std::uint16_t>(Theirs(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(is_nan(got) && (got & quiet) != 0) << std::hexfloat << value;
      ASSERT_EQ(got >> 15, std::bit_cast<std::uint32_t>(value) >> 31);
    } else {
      ASSERT_EQ(got, expected) << std::hexfloat << value;
    }
  }
  static void same_rounding_around(float value) {
    for (const float v : {std::nextafter(value, -INFINITY), value, std::nextafter(value, INFINITY)})
      same_rounding(v);
  }
};
using Types = testing::Types<F16, Bf16>;
TYPED_TEST_SUITE(Half, Types);

TYPED_TEST(Half, EveryValueIsReadAsItIs) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto narrow = static_cast<std::uint16_t>(bits);
    const float got = TestFixture::ours(narrow), expected = TestFixture::theirs(narrow);
    if (TestFixture::is_nan(narrow)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_EQ(std::signbit(got), bits >> 15 == 1) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << bits;
    }
  }
}

TYPED_TEST(Half, EveryValueComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto narrow = static_cast<std::uint16_t>(bits);
    const bool nan = TestFixture::is_nan(narrow);
    EXPECT_EQ(TypeParam(TestFixture::ours(narrow)).bits, nan ? narrow | TestFixture::quiet : narrow)
        << bits;
  }
}

TYPED_TEST(Half, RoundsToNearestEvenBetweenAnyTwoNeighbours) {
  for (std::uint32_t bits = 0; bits < TestFixture::infinity; ++bits) {
    const float low = TestFixture::ours(static_cast<std::uint16_t>(bits));
    const bool last = bits + 1 == TestFixture::infinity;
    // The value that would follow the largest one if the type had no end.
    const float step = low - TestFixture::ours(static_cast<std::uint16_t>(bits - 1));
    const float high = last ? low + step : TestFixture::ours(static_cast<std::uint16_t>(bits + 1));
    const float middle = std::isinf(high) ? low + step / 2 : low + (high - low) / 2;
    for (const float sign : {1.0F, -1.0F}) {
      TestFixture::same_rounding_around(sign * low);
      TestFixture::same_rounding_around(sign * middle);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(Half, RoundsAnyFloat) {
  std::mt19937_64 random(20210420);
  for (int i = 0; i < 4'000'000; ++i) {
    TestFixture::same_rounding(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(Half, EveryNanStaysOne) {
  // Includes NaNs with a payload in the bits that are cut off.
  for (const std::uint32_t payload : {1U, 0x1fffU, 0x2000U, 0x3fffffU, 0x400000U, 0x7fffffU})
    for (const std::uint32_t sign : {0U, 0x80000000U})
      TestFixture::same_rounding(std::bit_cast<float>(sign | 0x7f800000U | payload));
}

}  // namespace
}  // namespace ropewalk
