#include "kernels/cuda/host_entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ropewalk::cuda {
namespace {

// The lanes of a launch as numbers, in the order in which they ran.
std::vector<std::uint64_t> lanes_of(const Grid& grid, std::uint64_t seed) {
  std::vector<std::uint64_t> out;
  LaunchFault fault;
  run_grid(grid, seed, fault, [&](const Lane& lane) {
    const auto number = [](const Extent& at, const Extent& counts) {
      return (std::uint64_t{at.z} * counts.y + at.y) * counts.x + at.x;
    };
    out.push_back(number(lane.block, grid.blocks) * count_of(grid.threads) +
                  number(lane.thread, grid.threads));
  });
  EXPECT_STREQ(fault.text(), "");
  return out;
}

std::vector<std::uint64_t> counted(std::uint64_t count) {
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = i;
  return out;
}

constexpr Grid grids[] = {{{1}, {1}},     {{1}, {128}}, {{7}, {33}}, {{3, 2, 5}, {4, 3, 2}},
                          {{65}, {1024}}, {{100}, {1}}};

TEST(HostLauncher, EachSeedRunsEachLaneOnce) {
  for (const Grid& grid : grids) {
    const auto all = counted(count_of(grid.blocks) * count_of(grid.threads));
    for (const std::uint64_t seed : {0U, 1U, 20210420U}) {
      std::vector<std::uint64_t> lanes = lanes_of(grid, seed);
      EXPECT_EQ(lanes == all, all.size() == 1);
      std::sort(lanes.begin(), lanes.end());
      EXPECT_EQ(lanes, all);
    }
  }
}

TEST(HostLauncher, SeedsAndBlocksHaveOrdersOfTheirOwn) {
  const Grid grid{{2}, {64}};
  const auto first = lanes_of(grid, 1);
  EXPECT_EQ(first, lanes_of(grid, 1));
  EXPECT_NE(first, lanes_of(grid, 2));
  std::vector<std::uint64_t> threads[2];
  for (const std::uint64_t lane : first) threads[lane / 64].push_back(lane % 64);
  EXPECT_NE(threads[0], threads[1]);
}

// Of two lanes, a shuffled order has each one first about half of the time: so an error in one
// direction cannot hide.
TEST(HostLauncher, NeighboursRunInEitherOrder) {
  int before = 0, seeds = 400;
  for (int seed = 0; seed < seeds; ++seed) {
    const Permutation at(64, static_cast<std::uint64_t>(seed));
    for (std::uint64_t i = 0; at(i) != 31; ++i) before += at(i) == 30 ? 1 : 0;
  }
  EXPECT_GT(before, seeds / 3);
  EXPECT_LT(before, 2 * seeds / 3);
}

TEST(HostLauncher, APermutationOfAnyCount) {
  for (std::uint64_t count = 1; count <= 300; ++count) {
    const Permutation at(count, count * 77);
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(at(i));
    std::sort(out.begin(), out.end());
    ASSERT_EQ(out, counted(count));
  }
  const Permutation large((std::uint64_t{1} << 62) + 1, 5);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_LE(large(i), std::uint64_t{1} << 62);
}

std::string fault_of(const Grid& grid) {
  LaunchFault fault;
  const bool within = within_limits(grid, fault);
  EXPECT_EQ(within, !fault.met());
  return fault.text();
}

TEST(HostLauncher, LimitsAreThoseOfCuda) {
  EXPECT_EQ(fault_of({{0x7fffffff, 65535, 65535}, {1024}}), "");
  EXPECT_EQ(fault_of({{1}, {16, 1, 64}}), "");
  EXPECT_EQ(fault_of({{1}, {1, 1024}}), "");
  EXPECT_EQ(fault_of({{0x80000000}, {1}}),
            "launch failed: grid.x is 2147483648, not 1 to 2147483647");
  EXPECT_EQ(fault_of({{1, 65536}, {1}}), "launch failed: grid.y is 65536, not 1 to 65535");
  EXPECT_EQ(fault_of({{1, 1, 65536}, {1}}), "launch failed: grid.z is 65536, not 1 to 65535");
  EXPECT_EQ(fault_of({{0}, {1}}), "launch failed: grid.x is 0, not 1 to 2147483647");
  EXPECT_EQ(fault_of({{1}, {0}}), "launch failed: block.x is 0, not 1 to 1024");
  EXPECT_EQ(fault_of({{1}, {1, 1, 65}}), "launch failed: block.z is 65, not 1 to 64");
  EXPECT_EQ(fault_of({{1}, {1025}}), "launch failed: block.x is 1025, not 1 to 1024");
  EXPECT_EQ(fault_of({{1}, {32, 33}}),
            "launch failed: the number of threads in a block is 1056, not 1 to 1024");
}

TEST(HostLauncher, AFailedLaunchRunsNoLaneAndAFaultEndsIt) {
  int lanes = 0;
  LaunchFault fault;
  run_grid({{1, 65536}, {1}}, 1, fault, [&](const Lane&) { ++lanes; });
  EXPECT_EQ(lanes, 0);
  EXPECT_TRUE(fault.met());
  LaunchFault later;
  run_grid({{3}, {4}}, 1, later, [&](const Lane&) {
    if (++lanes == 6) later.say("at lane %d", lanes);
  });
  EXPECT_EQ(lanes, 6);
  later.say("another");
  EXPECT_STREQ(later.text(), "at lane 6");
}

TEST(HostAccess, AMisalignedAccessFailsTheLaunchAndTouchesNothing) {
  using Four = Elements<float, 4>;
  alignas(64) float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  LaunchFault none;
  const HostAccess good(none);
  EXPECT_EQ(good.load<Four>(x, 16).at[0], 5);
  good.store(x, 0, Four{{9, 9, 9, 9}});
  EXPECT_EQ(x[3], 9);
  EXPECT_STREQ(none.text(), "");
  LaunchFault load;
  EXPECT_EQ(HostAccess(load).load<Four>(x, 4).at[0], 0);
  EXPECT_STREQ(load.text(),
               "misaligned: a load of 16 bytes 4 bytes behind a multiple of its width");
  LaunchFault store;
  HostAccess(store).store(x, 12, Four{{0, 0, 0, 0}});
  EXPECT_STREQ(store.text(),
               "misaligned: a store of 16 bytes 12 bytes behind a multiple of its width");
  EXPECT_EQ(x[3], 9);
  EXPECT_EQ(x[4], 5);
  LaunchFault constant;
  (void)HostAccess(constant).load_constant<Elements<float, 2>>(x, 4);
  EXPECT_TRUE(constant.met());
}

template <class Index>
void divides_exactly(std::uint64_t most) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> numbers = {1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129, 641};
  for (std::uint64_t n = 1; n < most / 2; n = n * 3 + 1) {
    numbers.insert(numbers.end(), {n, most / n, most - n, (random() & (most - 1)) / n + 1});
  }
  numbers.push_back(most - 1);
  for (const std::uint64_t d : numbers) {
    if (d == 0 || d >= most) continue;
    const Divisor by = Divisor::of<Index>(d);
    for (const std::uint64_t base : numbers)
      for (const std::uint64_t n : {base, base / d * d, base / d * d + d - 1, most - 1}) {
        if (n >= most) continue;
        const Parts<Index> parts = split(by, static_cast<Index>(n));
        ASSERT_EQ(parts.quotient, n / d) << n << " / " << d;
        ASSERT_EQ(parts.remainder, n % d) << n << " / " << d;
      }
  }
}
TEST(Divisor, IsExactOverItsRange) {
  divides_exactly<std::uint32_t>(std::uint64_t{1} << 31);
  divides_exactly<std::uint64_t>(std::uint64_t{1} << 63);
  // A multiplier that is one too small is seen.
  Divisor wrong = Divisor::of<std::uint32_t>(7);
  --wrong.multiplier;
  EXPECT_NE(wrong.quotient(std::uint32_t{7}), 1U);
}

// Interleaved pairs (1, 0) give cos and sin: by 16 bytes, or by an element if the map is unaligned.
TEST(HostEntries, EachPairTakesTheRowOfItsAxis) {
  alignas(16) float x[16] = {}, y[16], cos[48], sin[48];
  for (int i = 0; i < 8; ++i) x[2 * i] = 1;
  for (int i = 0; i < 48; ++i) sin[i] = -(cos[i] = static_cast<float>(i));
  alignas(8) const std::uint8_t map[] = {0, 1, 1, 0, 1, 1, 0, 0, 1};
  const std::int32_t positions[] = {5, 1};
  for (const int shift : {0, 1}) {
    const rope_axes axes{{ROPE_EXT_AXES, sizeof axes, nullptr}, 2, 0, 1, 0, map + shift};
    rope_problem p{};
    p.batch = p.tokens = p.tensor_count = 1;
    p.rotary_dim = 16, p.table_rows = 6, p.table_row_stride = 8, p.position_dtype = ROPE_I32;
    p.tensor[0] = {1, 16, 0, 0, 0, 0, 0, 0, 0, ROPE_F32, ROPE_F32, 1, 0, {}};
    p.next = &axes.ext;
    const rope_operands o{sizeof o, 0, positions, {{x, y, cos, sin}}, nullptr, nullptr, nullptr};
    EXPECT_EQ(fits_wide(p, o, 0), shift == 0);
    ASSERT_EQ((apply_on_host<CudaBodies, table_options>(&p, &o, nullptr)), ROPE_OK);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(y[2 * i] - y[2 * i + 1], 2 * cos[positions[map[i + shift]] * 8 + i]) << i;
  }
}

}  // namespace
}  // namespace ropewalk::cuda
