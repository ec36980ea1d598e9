#include "properties/exhaustive/certify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr PositionRange all{-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1};

Division of_seed(std::uint64_t seed) {
  ChunkPlan plan;
  plan.seed = seed;
  return Division(plan);
}
const Division division = of_seed(20210420);

// Each position once, in order.
void expect_covered(const PositionRange& whole, const std::vector<PositionRange>& parts) {
  std::int64_t next = whole.first;
  for (const PositionRange& part : parts) {
    EXPECT_EQ(part.first, next);
    EXPECT_GE(part.count(), 1);
    next = part.last + 1;
  }
  EXPECT_EQ(next, whole.last + 1);
}

TEST(Shards, CoverTheRangeOnceAndAreCutWhereCallsEnd) {
  for (const PositionRange whole :
       {PositionRange{0, 65535}, PositionRange{5, 65535}, all, PositionRange{-70000, 70001}})
    for (const std::int64_t n : {1, 2, 3, 4, 7}) {
      const auto shards = shards_of(whole, n, division);
      ASSERT_EQ(std::ssize(shards), n);
      expect_covered(whole, shards);
      for (std::int64_t i = 1; i < n; ++i) {
        // The call that holds the position before the shard ends there.
        const std::int64_t before = shards[static_cast<std::size_t>(i)].first - 1;
        EXPECT_EQ(calls_of({before, before + 2}, division).at(0), (PositionRange{before, before}));
      }
    }
}

TEST(Shards, OfTooFewPositionsAreRefused) {
  EXPECT_EQ(shards_of({7, 7}, 1, division), (std::vector<PositionRange>{{7, 7}}));
  EXPECT_TRUE(shards_of({7, 7}, 2, division).empty());
  EXPECT_TRUE(shards_of({0, 8 * division.usual_short - 1}, 17, division).empty());
}

TEST(Pieces, CoverTheRangeOnce) {
  for (const PositionRange range : {PositionRange{0, 0}, all, PositionRange{-3, 1 << 23}})
    expect_covered(range, pieces_of(range, division));
  EXPECT_EQ(pieces_of(all, division).size(), 1026u) << "of a little less than 2^22 positions";
}

TEST(Calls, AreTheSameInPiecesShardsAndTheWhole) {
  const PositionRange whole{-3'000'000, 6'000'000};
  const auto calls = calls_of(whole, division);
  expect_covered(whole, calls);
  std::vector<PositionRange> in_pieces, in_shards;
  for (const PositionRange& piece : pieces_of(whole, division))
    for (const PositionRange& call : calls_of(piece, division)) in_pieces.push_back(call);
  for (const PositionRange& shard : shards_of(whole, 5, division))
    for (const PositionRange& call : calls_of(shard, division)) in_shards.push_back(call);
  EXPECT_EQ(in_pieces, calls);
  EXPECT_EQ(in_shards, calls);
  EXPECT_NE(calls_of(whole, of_seed(1)), calls);
}

// Calls of one length that begin at its multiples never cross such a multiple.
TEST(Calls, BeginAnywhereHaveAnyLengthAndCrossMultiples) {
  const auto calls = calls_of({0, (std::int64_t{1} << 24) - 1}, division);
  std::set<std::int64_t> starts, lengths;
  std::int64_t crossed = 0, long_calls = 0;
  for (const PositionRange& call : calls) {
    EXPECT_LE(call.count(), division.longest);
    if (call.count() >= division.least_long) ++long_calls;
    starts.insert(call.first % 64);
    lengths.insert(call.count() % 64);
    if ((call.first - 1) / 4096 != call.last / 4096 && call.first % 4096 != 0) ++crossed;
  }
  EXPECT_NEAR(static_cast<double>(long_calls), 0.75 * static_cast<double>(calls.size()) / 65, 20);
  EXPECT_EQ(starts.size(), 64u);
  EXPECT_EQ(lengths.size(), 64u);
  EXPECT_LT(*lengths.begin(), 64);
  EXPECT_GT(crossed, 4096 * 9 / 10) << "of 4096 multiples";
}

TEST(Samples, LieInTheRangeAndAreTheSameInShards) {
  const PositionRange whole{-100'000, 3'000'000};
  std::int64_t int64 = 0, backward = 0, calls = 0;
  for (const PositionRange& call : calls_of(whole, division)) {
    ++calls;
    for (const SampledCall& sample : samples_after(call, whole, division)) {
      EXPECT_GE(sample.positions.first, call.first);
      EXPECT_LE(sample.positions.first, call.last);
      EXPECT_LE(sample.positions.last, whole.last);
      EXPECT_LE(sample.positions.count(), 256);
      if (sample.form.position_dtype == Dtype::i64) ++int64;
      if (sample.form.operation == Operation::transpose) ++backward;
    }
  }
  EXPECT_EQ(int64, backward);
  EXPECT_NEAR(static_cast<double>(int64), static_cast<double>(calls) / 32, 16);
  EXPECT_EQ(samples_after({0, 9}, {0, 9}, division).size(), 2u) << "the first call of the range";
}

// One position as a correct kernel returns it. An error planted in it must be suspicious.
class ComparedPosition : public testing::TestWithParam<Pairing> {
 protected:
  static constexpr std::int64_t half = 64;
  ComparedPosition() : outputs(6 * half), x(2 * half, 0.75F), r(half, 1), zero(half) {
    for (std::int64_t i = 0; i < half; ++i) {
      const auto [a, b] = pair_index(GetParam(), i, half);
      at(0, a) = 1;
      at(0, b) = 0;
      at(1, a) = 0;
      at(1, b) = 1;
      at(2, a) = at(2, b) = 0.75F;
    }
  }
  float& at(std::int64_t head, std::int64_t e) {
    return outputs[static_cast<std::size_t>(head * 2 * half + e)];
  }
  bool suspicious(Suspicious look, double block, double vector) const {
    return look({outputs.data(),
                 x.data(),
                 {r.data(), zero.data(), r.data(), zero.data()},
                 half,
                 {block, 0},
                 {vector, 0},
                 0,
                 0});
  }
  std::vector<float> outputs, x;
  std::vector<double> r, zero;
};

TEST_P(ComparedPosition, SeesEachElementOfEachHead) {
  for (const Suspicious look :
       {suspicious_rows(GetParam(), false), suspicious_rows_anywhere(GetParam(), false)}) {
    EXPECT_FALSE(suspicious(look, 0, 0));
    EXPECT_TRUE(suspicious(look, -1, 0));
    EXPECT_TRUE(suspicious(look, 0, -1));
    for (std::int64_t head = 0; head < 3; ++head)
      for (std::int64_t e = 0; e < 2 * half; ++e) {
        const float right = at(head, e);
        for (const float wrong : {right + 1e-3F, std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity()}) {
          at(head, e) = wrong;
          EXPECT_TRUE(suspicious(look, 1e-8, 1e-8)) << head << " " << e << " " << wrong;
        }
        at(head, e) = right + 1e-3F;
        EXPECT_FALSE(suspicious(look, 1e-5, 1e-5)) << head << " " << e;
        at(head, e) = right;
      }
  }
}

// The errors of 64 pairs against the bounds, by another way: the larger quotient decides.
TEST_P(ComparedPosition, TheFastestVersionAgreesWithTheOneForAllMachines) {
  const auto bf16 = bounds::stored_as(data_type(Dtype::bf16).format);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> turn(-4, 4), off(-1e-3, 1e-3);
  std::vector<double> base_cos(half), base_sin(half), cos(half), sin(half);
  for (int round = 0; round < 100; ++round)
    for (const bounds::Precision& precision : {bounds::f32, bf16}) {
      const bool stored = precision.stored_u > 0;
      double worst[2] = {0, 0};  // of blocks, and of full vectors
      for (std::int64_t i = 0; i < half; ++i) {
        const auto n = static_cast<std::size_t>(i);
        const double base = turn(random), low = turn(random), c = std::cos(base + low),
                     s = std::sin(base + low);
        base_cos[n] = std::cos(base), base_sin[n] = std::sin(base);
        cos[n] = std::cos(low), sin[n] = std::sin(low);
        const auto [a, b] = pair_index(GetParam(), i, half);
        const std::pair<double, double> exact[] = {
            {c, s}, {-s, c}, {(c - s) * 0.75, (c + s) * 0.75}};
        for (std::int64_t head = 0; head < 3; ++head) {
          const auto [re, im] = exact[head];
          at(head, a) = static_cast<float>(re + off(random));
          at(head, b) = static_cast<float>(im + off(random));
          double limit = head == 2 ? 2 * 0.75 * 0.75 : 1;
          if (stored)
            limit += std::pow(bounds::half_ulp(precision, re), 2) +
                     std::pow(bounds::half_ulp(precision, im), 2);
          const double error = std::pow(at(head, a) - re, 2) + std::pow(at(head, b) - im, 2);
          worst[head / 2] = std::max(worst[head / 2], error / limit);
        }
      }
      for (const Suspicious look :
           {suspicious_rows(GetParam(), stored), suspicious_rows_anywhere(GetParam(), stored)}) {
        const auto is_suspicious = [&](double block, double vector) {
          return look({outputs.data(),
                       x.data(),
                       {base_cos.data(), base_sin.data(), cos.data(), sin.data()},
                       half,
                       {worst[0] * block, worst[0] * block},
                       {worst[1] * vector, worst[1] * vector},
                       precision.stored_u,
                       precision.stored_least()});
        };
        constexpr double within = 1 + 0x1p-30, beyond = 1 - 0x1p-30;
        EXPECT_FALSE(is_suspicious(within, within));
        EXPECT_TRUE(is_suspicious(beyond, within));
        EXPECT_TRUE(is_suspicious(within, beyond));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Pairings, ComparedPosition,
                         testing::Values(Pairing::half_split, Pairing::interleaved));

}  // namespace
}  // namespace ropewalk::properties
