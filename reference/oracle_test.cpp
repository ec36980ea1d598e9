// Compares the oracle with a derivation that shares no code with it, and shows that one wrong bit
// is found.
#include "reference/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reference/frequencies.h"
#include "reference/testing/second_derivation.h"

namespace ropewalk {
namespace {

using Positions = std::vector<std::int64_t>;

constexpr double allowed = -100;  // log2 of the promised error
constexpr double two_pi = 0x1.921fb54442d18p+2;

/// The largest log2 error over the positions. The search stops at the first error above `allowed`.
double worst_log2_error(FrequencyTable& table, double inv_freq, const Positions& positions) {
  double worst = -std::numeric_limits<double>::infinity();
  for (const std::int64_t position : positions) {
    const double error = log2_error(inv_freq, position, table.at(position));
    if (!(error <= allowed)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One frequency of a random model, and 200 positions anywhere in int32.
struct Sample {
  double inv_freq;
  Positions positions;
};

/// 50 frequencies with 200 positions each, so that 50 tables are filled and not 10,000.
std::vector<Sample> random_samples() {
  constexpr double bases[] = {100, 500, 10000, 150000, 500000, 1e6, 8e6, 1e7};
  // its numbers are the same everywhere; those of std:: distributions are not
  std::mt19937_64 bits(20210420);
  std::vector<Sample> samples;
  for (int group = 0; group < 50; ++group) {
    const double base = bases[bits() % std::size(bases)];
    const std::uint64_t half = 1 + bits() % 128;
    const auto inv_freq = inverse_frequencies(base, static_cast<std::int64_t>(2 * half));
    Sample sample{inv_freq[bits() % half], {}};
    for (int k = 0; k < 200; ++k)
      sample.positions.push_back(static_cast<std::int32_t>(bits() >> 32));
    samples.push_back(sample);
  }
  return samples;
}

Positions edge_positions() {
  const Positions around = {0,       255,        256,        1023,     1024,    2047,
                            2048,    4095,       4096,       65503,    65504,   65535,
                            65536,   131071,     1 << 20,    1 << 24,  1 << 30, 1000000,
                            1047552, 2146435072, 2147483645, 123456789};
  Positions positions;
  for (const std::int64_t center : around)
    for (const std::int64_t p : {center - 1, center, center + 1})
      positions.insert(positions.end(), {p, -p});
  positions.insert(positions.end(), {std::int64_t{1} << 31, -(std::int64_t{1} << 31)});
  return positions;
}

/// The positions that consist of one row of `level` alone.
Positions row_positions(FrequencyTable& table, int level) {
  Positions positions;
  for (std::size_t k = 0; k < table.rows(level).size(); ++k)
    positions.push_back(static_cast<std::int64_t>(k) << (10 * level));
  return positions;
}

/// Flips the bit of value 2^exponent in x.
void flip_bit(double& x, int exponent) {
  const int bit = exponent - (std::ilogb(x) - 52);
  ASSERT_TRUE(bit >= 0 && bit < 52) << "2^" << exponent << " is no mantissa bit of " << x;
  x = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ (std::uint64_t{1} << bit));
}

// e^(i position inv_freq) as two double-doubles.
struct Published {
  double inv_freq;
  std::int64_t position;
  double re_hi, re_lo, im_hi, im_lo;
  Rotation value() const { return {{re_hi, re_lo}, {im_hi, im_lo}}; }
};
constexpr double root = 0x1.bb5fad00ab22cp-1;  // 10000^(-1/64)

// Computed with mpmath at 500 bits.
const Published published[] = {{1.0, 1, 0x1.14a280fb5068cp-1, -0x1.b71edcc9344bcp-55,
                                0x1.aed548f090ceep-1, 0x1.06374f484e288p-59},
                               {root, 2147483647, -0x1.f6861f52be1f2p-1, -0x1.65ea1fa0a6933p-57,
                                -0x1.8832bd6c8e618p-3, -0x1.ef8f224d7c129p-58},
                               {two_pi, -2147483648, 0x1.ffffffffffb22p-1, 0x1.8bd3ad19b30f5p-58,
                                0x1.1a62633145b22p-21, -0x1.7518ca4b41434p-76},
                               {0.01, 1000000, -0x1.e780e88ec41ccp-1, -0x1.52752f662132cp-55,
                                -0x1.38f2fa75da07bp-2, -0x1.7c19ff48fc64bp-56}};

TEST(SecondDerivation, AgreesWithPublishedValues) {
  for (const Published& p : published)
    EXPECT_LE(log2_error(p.inv_freq, p.position, p.value()), -106)
        << p.inv_freq << " " << p.position;
}

TEST(SecondDerivation, MeasuresAKnownError) {
  for (const int exponent : {-20, -60, -95}) {
    Rotation wrong = published[1].value();
    wrong.re = wrong.re + DoubleDouble(std::ldexp(1.0, exponent));
    EXPECT_NEAR(log2_error(published[1].inv_freq, published[1].position, wrong), exponent, 1e-2);
  }
  EXPECT_EQ(log2_error(0.5, 0, {1.0, 0.0}), -1000);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(log2_error(0.5, 3, {nan, 0.0}) <= 0);
}

TEST(Oracle, TenThousandRandomPoints) {
  double worst = -std::numeric_limits<double>::infinity();
  double fill_s = 0, value_s = 0, sum = 0;
  std::size_t points = 0;
  for (const Sample& sample : random_samples()) {
    FrequencyTable table(sample.inv_freq);
    const auto filling = std::chrono::steady_clock::now();
    for (int level = 0; level < FrequencyTable::levels; ++level) table.rows(level);
    fill_s += seconds_since(filling);
    const auto reading = std::chrono::steady_clock::now();
    for (const std::int64_t position : sample.positions) sum += table.at(position).re.hi;
    value_s += seconds_since(reading);
    const double error = worst_log2_error(table, sample.inv_freq, sample.positions);
    ASSERT_LE(error, allowed) << "inv_freq " << sample.inv_freq;
    worst = std::max(worst, error);
    points += sample.positions.size();
  }
  EXPECT_EQ(points, 10000U);
  EXPECT_TRUE(std::isfinite(sum));
  std::cout << "worst error 2^" << worst << " over " << points << " points; "
            << value_s / static_cast<double>(points) * 1e9 << " ns a value, " << fill_s / 50 * 1e3
            << " ms to fill the three levels of a frequency\n";
}

TEST(Oracle, EdgePositionsAndFrequencies) {
  const double least = std::numeric_limits<double>::denorm_min();
  double worst = -std::numeric_limits<double>::infinity();
  for (const double inv_freq : {0.0, least, 1e-310, 1e-300, 1e-8, 1e-4, 0.01, 1.0, 0x1p-10,
                                0x1.921fb54442d18p+0, 0x1.921fb54442d18p+1, two_pi}) {
    FrequencyTable table(inv_freq);
    const double error = worst_log2_error(table, inv_freq, edge_positions());
    EXPECT_LE(error, allowed) << "inv_freq " << inv_freq;
    worst = std::max(worst, error);
  }
  std::cout << "worst error 2^" << worst << " at the edges\n";
}

void expect_bits(const Rotation& r, const Rotation& wanted) {
  EXPECT_EQ(std::tuple(r.re.hi, r.re.lo, r.im.hi, r.im.lo),
            std::tuple(wanted.re.hi, wanted.re.lo, wanted.im.hi, wanted.im.lo));
}

TEST(Oracle, PositionZeroAndFrequencyZeroAreExactlyOne) {
  for (const auto& [inv_freq, position] :
       {std::pair<double, std::int64_t>{0.7, 0}, {0.0, 1234567}}) {
    expect_bits(FrequencyTable(inv_freq).at(position), {1.0, 0.0});
  }
}

TEST(Oracle, RefusesPositionsOutsideItsRange) {
  FrequencyTable table(1.0);
  const std::int64_t end = std::int64_t{1} << 31;
  for (const std::int64_t position : {end + 1, -end - 1, std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()})
    EXPECT_THROW(table.at(position), std::out_of_range) << position;
  EXPECT_NO_THROW(table.at(end));
  EXPECT_NO_THROW(table.at(-end));
}

// Composed from the rounded rows with every operation rounded as written, in exact rational
// arithmetic outside this project. So machines with and without the FMA instruction must agree.
TEST(Oracle, BitsOfAComposedValueArePinned) {
  const Published pinned[] = {{root, 2147483647, -0x1.f6861f52be1f2p-1, -0x1.65ea1fa0a6931p-57,
                               -0x1.8832bd6c8e618p-3, -0x1.ef8f224d7c12cp-58},
                              {1.0, -123456789, 0x1.1f4077c91589fp-3, -0x1.b5fe0bb6c54ccp-58,
                               -0x1.faf0521c8dc5cp-1, 0x1.4b538c254242ep-57},
                              {0.01, 1000003, -0x1.e2973532d2585p-1, -0x1.36a5a99566ed8p-55,
                               -0x1.560ddc550680ap-2, -0x1.902e14768bc20p-57}};
  for (const Published& p : pinned) {
    SCOPED_TRACE(p.position);
    expect_bits(FrequencyTable(p.inv_freq).at(p.position), p.value());
  }
}

// Checks every row of every level once, as a value of its own; then plants one wrong bit in each
// level.
TEST(Oracle, APlantedBitIsFoundInEveryLevel) {
  for (int level = 0; level < FrequencyTable::levels; ++level) {
    FrequencyTable table(root);
    const Positions positions = row_positions(table, level);
    EXPECT_LE(worst_log2_error(table, root, positions), allowed) << "clean level " << level;
    Rotation& row = table.rows(level)[150 + 7 * static_cast<std::size_t>(level)];
    const Rotation clean = row;
    for (const auto& [number, exponent, room] :
         {std::tuple(&row.re.hi, -45, 1e-3), {&row.im.lo, -90, 1e-3}, {&row.re.lo, -98, 1e-2}}) {
      flip_bit(*number, exponent);
      EXPECT_NEAR(worst_log2_error(table, root, positions), exponent, room) << "level " << level;
      row = clean;
    }
  }
}

TEST(Oracle, RotationsHaveMagnitudeOneAndCompose) {
  Oracle oracle;
  std::mt19937_64 bits(7);
  double worst_norm = 0, worst_sum = 0;
  for (const double inv_freq : inverse_frequencies(10000, 16)) {
    for (int k = 0; k < 1000; ++k) {
      const std::int64_t a = static_cast<std::int32_t>(bits() >> 32) / 2;
      const std::int64_t b = static_cast<std::int32_t>(bits() >> 32) / 2;
      const Rotation r_a = oracle.at(inv_freq, a), r_b = oracle.at(inv_freq, b),
                     r_sum = oracle.at(inv_freq, a + b);
      const DoubleDouble norm = r_a.re * r_a.re + r_a.im * r_a.im - DoubleDouble(1.0);
      const Rotation product = rotate(r_a, r_b);
      const double error = std::hypot(static_cast<double>(product.re - r_sum.re),
                                      static_cast<double>(product.im - r_sum.im));
      ASSERT_LE(std::abs(static_cast<double>(norm)), 0x1p-100) << inv_freq << " " << a;
      ASSERT_LE(error, 0x1p-100) << inv_freq << " " << a << " " << b;
      worst_norm = std::max(worst_norm, std::abs(static_cast<double>(norm)));
      worst_sum = std::max(worst_sum, error);
    }
  }
  std::cout << "c^2 + s^2 - 1: 2^" << std::log2(worst_norm) << "; R_a R_b - R_(a+b): 2^"
            << std::log2(worst_sum) << "\n";
}

TEST(Oracle, BeginsAnewWhenItHoldsTooMuch) {
  constexpr std::size_t little = 1 << 20;
  Oracle small(little), large;
  const DoubleDouble mark(42.0);
  for (Oracle* oracle : {&small, &large}) {
    oracle->table(0.25).rows(0)[5].re = mark;
    for (int k = 1; k <= 1023; ++k) {
      FrequencyTable& table = oracle->table(1.0 + 0x1p-20 * k);
      if (k < 64) table.rows(0);  // 64 levels of 32 kB are 2 MB
    }
  }
  EXPECT_LE(log2_error(0.25, 5, small.at(0.25, 5)), allowed);
  EXPECT_EQ(large.at(0.25, 5).re.hi, mark.hi);
}

}  // namespace
}  // namespace ropewalk
