#include "properties/exhaustive/certify.h"

#include <gtest/gtest.h>

#include <limits>

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr PositionRange all{-(std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1};

TEST(Shards, CoverTheRangeOnceAndAreCutWhereChunksEnd) {
  for (const PositionRange whole :
       {PositionRange{0, 65535}, PositionRange{5, 65535}, all, PositionRange{-70000, 70001}})
    for (const std::int64_t n : {1, 2, 3, 4, 7}) {
      std::int64_t next = whole.first;
      for (std::int64_t i = 1; i <= n; ++i) {
        const auto shard = shard_of(whole, i, n);
        ASSERT_TRUE(shard) << i << "/" << n;
        EXPECT_EQ(shard->first, next);
        EXPECT_TRUE(shard->first == whole.first || shard->first % ChunkRunner::tokens_most == 0);
        next = shard->last + 1;
      }
      EXPECT_EQ(next, whole.last + 1);
    }
}

TEST(Shards, OfTooFewPositionsAreRefused) {
  EXPECT_TRUE(shard_of({7, 7}, 1, 1));
  for (const std::int64_t i : {1, 2}) EXPECT_FALSE(shard_of({7, 7}, i, 2));
  for (std::int64_t i = 1; i <= 9; ++i) EXPECT_FALSE(shard_of({0, 8 * 4096 - 1}, i, 9));
}

TEST(Pieces, CoverTheRangeOnce) {
  for (const PositionRange range : {PositionRange{0, 0}, all, PositionRange{-3, 1 << 23}}) {
    std::int64_t next = range.first;
    for (const PositionRange piece : pieces_of(range)) {
      EXPECT_EQ(piece.first, next);
      EXPECT_GE(piece.count(), 1);
      next = piece.last + 1;
    }
    EXPECT_EQ(next, range.last + 1);
  }
  EXPECT_EQ(pieces_of({-1, 0}).size(), 2u);
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
                 block,
                 vector});
  }
  std::vector<float> outputs, x;
  std::vector<double> r, zero;
};

TEST_P(ComparedPosition, SeesEachElementOfEachHead) {
  for (const Suspicious look :
       {suspicious_rows(GetParam()), suspicious_rows_anywhere(GetParam())}) {
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

INSTANTIATE_TEST_SUITE_P(Pairings, ComparedPosition,
                         testing::Values(Pairing::half_split, Pairing::interleaved));

}  // namespace
}  // namespace ropewalk::properties
