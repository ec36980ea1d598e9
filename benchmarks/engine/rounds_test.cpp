#include "benchmarks/engine/rounds.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace ropewalk::bench {
namespace {

using Orders = std::vector<std::vector<int>>;

/// How often each contestant stands in each place, and how often each ordered pair is adjacent.
struct Counts {
  std::set<int> places, neighbours;  ///< the different counts, 0 included
};
Counts count(const Orders& orders, int contestants) {
  std::map<std::pair<int, int>, int> places, neighbours;
  for (int a = 0; a < contestants; ++a)
    for (int b = 0; b < contestants; ++b) {
      places[{a, b}] = 0;
      if (a != b) neighbours[{a, b}] = 0;
    }
  for (const auto& row : orders)
    for (std::size_t i = 0; i < row.size(); ++i) {
      ++places[{row[i], static_cast<int>(i)}];
      if (i > 0) ++neighbours[{row[i - 1], row[i]}];
    }
  Counts out;
  for (const auto& [place, times] : places) out.places.insert(times);
  for (const auto& [pair, times] : neighbours) out.neighbours.insert(times);
  return out;
}

Orders plain_rotation(int contestants) {
  Orders orders;
  for (int shift = 0; shift < contestants; ++shift) {
    orders.emplace_back();
    for (int i = 0; i < contestants; ++i) orders.back().push_back((i + shift) % contestants);
  }
  return orders;
}

TEST(Rounds, EachPairOfNeighboursOccursEquallyOften) {
  for (int n = 2; n <= 25; ++n) {
    const Orders design = williams_design(n);
    EXPECT_EQ(design.size(), static_cast<std::size_t>(n % 2 == 0 ? n : 2 * n));
    for (const auto& row : design)
      EXPECT_EQ(std::set<int>(row.begin(), row.end()).size(), static_cast<std::size_t>(n));
    const Counts counts = count(design, n);
    EXPECT_EQ(counts.places, (std::set<int>{n % 2 == 0 ? 1 : 2})) << n;
    EXPECT_EQ(counts.neighbours, (std::set<int>{n % 2 == 0 ? 1 : 2})) << n;
  }
}

TEST(Rounds, APlainRotationFailsTheSameCount) {
  for (int n = 3; n <= 10; ++n) {
    const Counts counts = count(plain_rotation(n), n);
    EXPECT_EQ(counts.places.size(), 1u);  // all counts are equal: a Latin square
    EXPECT_GT(counts.neighbours.size(), 1u) << n;
  }
  // For an odd number, one square alone is not balanced.
  Orders half = williams_design(7);
  for (std::size_t i = half.size(); i-- > 0;)
    if (i % 2 == 1) half.erase(half.begin() + static_cast<std::ptrdiff_t>(i));
  EXPECT_GT(count(half, 7).neighbours.size(), 1u);
}

TEST(Rounds, WholeDesignsShuffledBySeed) {
  for (const int n : {1, 2, 5, 6}) {
    const Orders orders = round_orders(n, 20, 7);
    EXPECT_GE(orders.size(), 20u);
    EXPECT_LT(orders.size(), 20u + static_cast<std::size_t>(2 * n));
    EXPECT_LE(count(orders, n).neighbours.size(), 1u);
    EXPECT_EQ(count(orders, n).places.size(), 1u);
    EXPECT_EQ(orders, round_orders(n, 20, 7));
  }
  EXPECT_NE(round_orders(6, 20, 7), round_orders(6, 20, 8));
  EXPECT_TRUE(round_orders(0, 20, 7).empty());
  EXPECT_TRUE(round_orders(3, 0, 7).empty());
  EXPECT_TRUE(williams_design(-1).empty());
}

}  // namespace
}  // namespace ropewalk::bench
