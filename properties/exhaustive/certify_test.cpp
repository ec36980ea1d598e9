#include "properties/exhaustive/certify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "properties/exhaustive/block_compare.h"
#include "reference/bounds.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr PositionRange all{-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1};

ChunkPlan of_seed(std::uint64_t seed) {
  ChunkPlan plan;
  plan.seed = seed;
  plan.first = all.first;
  plan.last = all.last;
  return plan;
}
const ChunkPlan plan = of_seed(20210420);

std::vector<PositionRange> ranges_of(PositionRange range, const ChunkPlan& of = plan) {
  std::vector<PositionRange> ranges;
  for (const RangeCall& call : calls_of(range, of)) ranges.push_back(call.positions);
  return ranges;
}

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
      const auto shards = range_parts(whole, n, plan);
      ASSERT_EQ(std::ssize(shards), n);
      expect_covered(whole, shards);
      for (std::int64_t i = 1; i < n; ++i) {
        // The call that holds the position before the shard ends there.
        const std::int64_t before = shards[static_cast<std::size_t>(i)].first - 1;
        EXPECT_EQ(ranges_of({before, before + 2}).at(0), (PositionRange{before, before}));
      }
    }
}

TEST(Shards, OfTooFewPositionsAreRefused) {
  EXPECT_EQ(range_parts({7, 7}, 1, plan), (std::vector<PositionRange>{{7, 7}}));
  EXPECT_TRUE(range_parts({7, 7}, 2, plan).empty());
  EXPECT_TRUE(range_parts({0, 4 * plan.longest_call() - 1}, 17, plan).empty());
}

TEST(Calls, AreTheSameInShardsAndTheWhole) {
  const PositionRange whole{-3'000'000, 6'000'000};
  const auto calls = ranges_of(whole);
  expect_covered(whole, calls);
  std::vector<PositionRange> in_shards;
  for (const PositionRange& shard : range_parts(whole, 5, plan))
    for (const PositionRange& call : ranges_of(shard)) in_shards.push_back(call);
  EXPECT_EQ(in_shards, calls);
  EXPECT_NE(ranges_of(whole, of_seed(1)), calls);
}

// Calls of one length that begin at its multiples never cross such a multiple.
TEST(Calls, BeginAnywhereHaveAnyLengthAndCrossMultiples) {
  const auto calls = ranges_of({0, (std::int64_t{1} << 24) - 1});
  std::set<std::int64_t> starts, lengths;
  std::int64_t crossed = 0, long_calls = 0, shortest = plan.longest_call(), longest = 0;
  for (const PositionRange& call : calls) {
    shortest = std::min(shortest, call.count());
    longest = std::max(longest, call.count());
    if (3 * call.count() > 2 * plan.longest_call()) ++long_calls;
    starts.insert(call.first % 64);
    lengths.insert(call.count() % 64);
    if ((call.first - 1) / 4096 != call.last / 4096 && call.first % 4096 != 0) ++crossed;
  }
  EXPECT_NEAR(static_cast<double>(long_calls), 2.0 / 9 * static_cast<double>(calls.size()), 90);
  EXPECT_EQ(starts.size(), 64u);
  EXPECT_EQ(lengths.size(), 64u);
  EXPECT_LT(shortest, 256);
  EXPECT_GT(longest, plan.longest_call() - 256);
  EXPECT_LT(longest, plan.longest_call());
  EXPECT_GT(crossed, 4096 * 9 / 10) << "of 4096 multiples";
}

TEST(Samples, FollowEachEighthCallAndAreTheSameInShards) {
  const std::vector<ChunkForm> forms = {{Operation::forward, Dtype::i64},
                                        {Operation::transpose, Dtype::i32}};
  const PositionRange whole{-100'000, 9'000'000};
  std::vector<PositionRange> in_whole, in_shards;
  std::int64_t backward = 0, calls = 0;
  PositionRange before;
  for (const auto& [positions, form] : calls_of(whole, plan, forms)) {
    if (form == ChunkForm{}) {
      before = positions;
      ++calls;
      continue;
    }
    in_whole.push_back(positions);
    EXPECT_GE(positions.first, before.first);
    EXPECT_LE(positions.first, before.last);
    EXPECT_LE(positions.count(), 64);
    if (form.operation == Operation::transpose) ++backward;
  }
  EXPECT_EQ(std::ssize(in_whole), 2 * backward);
  EXPECT_NEAR(static_cast<double>(backward), static_cast<double>(calls) / 8, 1);
  for (const PositionRange& shard : range_parts(whole, 5, plan))
    for (const auto& [positions, form] : calls_of(shard, plan, forms))
      if (!(form == ChunkForm{})) in_shards.push_back(positions);
  EXPECT_EQ(in_shards, in_whole);
  ChunkPlan small = plan;
  small.first = 0;
  small.last = 9;
  const auto both = calls_of({0, 9}, small, forms);
  ASSERT_EQ(both.size(), 3u) << "the first call of the range, and its samples";
  EXPECT_LE(both[1].positions.last, 9);
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
       {suspicious_rows(GetParam(), false), suspicious_rows(GetParam(), false, false)}) {
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
           {suspicious_rows(GetParam(), stored), suspicious_rows(GetParam(), stored, false)}) {
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
