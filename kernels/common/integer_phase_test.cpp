#include "kernels/common/integer_phase.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "reference/oracle.h"

namespace ropewalk {
namespace {

constexpr std::uint64_t quarter_turn = std::uint64_t{1} << 62;
constexpr long double pi = std::numbers::pi_v<long double>;

// round(2^64 f / 2 pi) mod 2^64 by mpmath at 2000 bits, for the double that the literal denotes.
TEST(TurnFraction, IsTheRoundedExactQuotient) {
  struct Known {
    double inv_freq;
    TurnFraction fraction;
  };
  constexpr Known known[] = {
      {1.0, 0x28be60db9391054a},
      {0x1.fffffffffffffp-1, 0x28be60db93910405},
      {0.5, 0x145f306dc9c882a5},
      {0.1, 0x041309af8ec1b3cb},
      {1.0 / 3, 0x0d94caf3dbdb018d},
      {1e-4, 0x00010b04870e0488},
      {1e-10, 0x117fd03a},
      {0x1.921fb54442d18p+0, 0x3fffffffffffff4c},  // the double below pi / 2
      // the double below 2 pi: 719 units short of a turn
      {0x1.921fb54442d18p+2, 0xfffffffffffffd31},
      {0x1.921fb54442d19p+2, 0x0000000000000761},  // the double above 2 pi: wraps around
  };
  for (const Known& k : known) EXPECT_EQ(turn_fraction(k.inv_freq), k.fraction) << k.inv_freq;
}

TEST(TurnFraction, TinyFrequenciesRoundToWholeUnits) {
  EXPECT_EQ(turn_fraction(1e-18), 3u);    // 3.064
  EXPECT_EQ(turn_fraction(3e-19), 1u);    // 0.881
  EXPECT_EQ(turn_fraction(1.8e-19), 1u);  // 0.528
  EXPECT_EQ(turn_fraction(1.6e-19), 0u);  // 0.470
  EXPECT_EQ(turn_fraction(1e-30), 0u);
  EXPECT_EQ(turn_fraction(0x1p-1022), 0u);
  EXPECT_EQ(turn_fraction(5e-324), 0u);  // the least subnormal
  EXPECT_EQ(turn_fraction(0.0), 0u);
}

TEST(TurnFraction, DoublingTheFrequencyDoublesTheFraction) {
  std::mt19937_64 random(1);
  for (int n = 0; n < 10'000; ++n) {
    const double f =
        std::ldexp(static_cast<double>(random() >> 11), -53 - static_cast<int>(random() % 60));
    const TurnFraction twice = turn_fraction(2 * f);
    const auto off = static_cast<std::int64_t>(twice - 2 * turn_fraction(f));
    ASSERT_LE(std::abs(off), 1) << f;
  }
}

TEST(Phase, QuarterTurnsAreExact) {
  const CosSin expected[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  for (std::uint64_t q = 0; q < 4; ++q) {
    const CosSin r = cos_sin(q * quarter_turn);
    EXPECT_EQ(r.cos, expected[q].cos) << q;
    EXPECT_EQ(r.sin, expected[q].sin) << q;
  }
}

// Every edge between quadrants and between the ranges of the polynomials, with its neighbours.
std::vector<std::uint64_t> edge_phases() {
  std::vector<std::uint64_t> phases;
  for (std::uint64_t eighth = 0; eighth < 8; ++eighth)
    for (std::uint64_t distance = 0; distance < 3; ++distance) {
      const std::uint64_t edge = eighth << 61;
      phases.push_back(edge + distance);
      phases.push_back(edge - distance);
      phases.push_back(edge + (std::uint64_t{1} << (20 * distance)));
      phases.push_back(edge - (std::uint64_t{1} << (20 * distance)));
    }
  return phases;
}

long double error_of(std::uint64_t phase) {
  // A 64-bit integer is exact in the 64-bit mantissa of an x87 long double.
  const long double angle = std::ldexp(static_cast<long double>(phase), -64) * 2 * pi;
  const CosSin r = cos_sin(phase);
  return std::max(std::abs(static_cast<long double>(r.cos) - std::cos(angle)),
                  std::abs(static_cast<long double>(r.sin) - std::sin(angle)));
}

TEST(Phase, CosAndSinAreWithinTheStatedError) {
  long double worst = 0;
  for (const std::uint64_t phase : edge_phases()) worst = std::max(worst, error_of(phase));
  std::mt19937_64 random(2);
  for (int n = 0; n < 100'000; ++n) worst = std::max(worst, error_of(random()));
  EXPECT_LT(worst, 0x1p-36L);
  EXPECT_GT(worst, 0x1p-38L) << "the stated error is not vacuous";
}

TEST(Phase, OfNegativePositionsIsTheConjugate) {
  for (const double f : {1.0, 0.1, 1e-4})
    for (const std::int64_t m : {1ll, 77ll, 1ll << 31}) {
      const TurnFraction fraction = turn_fraction(f);
      EXPECT_EQ(phase_of(fraction, m) + phase_of(fraction, -m), 0u);
    }
}

// |phase / 2^64 - m f / 2 pi| in turns, measured by the oracle, without whole turns.
long double phase_error_turns(Oracle& oracle, double f, TurnFraction fraction, std::int64_t m) {
  const long double angle =
      std::ldexp(static_cast<long double>(phase_of(fraction, m)), -64) * 2 * pi;
  const Rotation exact = oracle.at(f, m);
  const long double c = std::cos(angle), s = std::sin(angle);
  const long double re = static_cast<long double>(exact.re.hi) + exact.re.lo;
  const long double im = static_cast<long double>(exact.im.hi) + exact.im.lo;
  return std::hypot(c - re, s - im) / (2 * pi);  // chord and arc agree to (angle)^3 / 24
}

constexpr long double long_double_turns = 0x1p-62L;  // roundings of the comparison itself

std::vector<std::int64_t> positions() {
  std::vector<std::int64_t> out{0,        1, 2, 1023, 1024, 131'071, (1 << 24) + 1, (1ll << 31) - 1,
                                1ll << 31};
  std::mt19937_64 random(3);
  for (int n = 0; n < 50; ++n) out.push_back(static_cast<std::int64_t>(random() >> 33));
  for (std::size_t n = out.size(); n-- > 0;) out.push_back(-out[n]);
  return out;
}

TEST(Phase, IsWithinHalfAUnitPerPositionOfTheOracle) {
  Oracle oracle;
  for (const double f :
       {1.0, 0x1.921fb54442d18p+2, 0.5, 0.1, 1.0 / 3, 1e-4, 1e-10, 1.6e-19, 1e-30}) {
    const TurnFraction fraction = turn_fraction(f);
    for (const std::int64_t m : positions()) {
      const long double bound = std::ldexp(static_cast<long double>(std::abs(m)), -65);
      ASSERT_LE(phase_error_turns(oracle, f, fraction, m), bound + long_double_turns)
          << "frequency " << f << ", position " << m;
    }
  }
}

// A negative control: the comparison finds the smallest possible error of a fraction.
TEST(Phase, FractionThatIsOneUnitOffIsSeen) {
  Oracle oracle;
  const std::int64_t far = std::int64_t{1} << 31;
  const long double bound = std::ldexp(static_cast<long double>(far), -65);
  for (const double f : {0.5, 0.1, 1.0 / 3, 1e-4})
    for (const TurnFraction off : {turn_fraction(f) + 1, turn_fraction(f) - 1})
      EXPECT_GT(phase_error_turns(oracle, f, off, far), 1.2L * bound) << f;
}

}  // namespace
}  // namespace ropewalk
