#include "kernels/cuda/fibers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/host_launcher.h"

namespace ropewalk::cuda {
namespace {

// Runs a body by fibers, with 4 KiB of shared memory, and answers with the words of its fault.
template <class Body>
std::string words(const Grid& grid, Body&& body, std::uint64_t seed = 9) {
  constexpr std::size_t shared = 4096;
  std::vector<std::byte> bytes(TeamMemory::bytes_for(grid.threads, shared) + 64, std::byte{0xee});
  const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
  const TeamMemory memory{bytes.data() + (64 - at % 64), bytes.size() - 64, shared};
  LaunchFault fault;
  run_teams(grid, Shuffled{seed}, memory, fault, body);
  return fault.text();
}

TEST(Team, EachLaneRunsOnceWithIndicesOfItsOwn) {
  const Grid grid{{3, 2}, {8, 4, 2}};
  std::vector<int> runs(6 * 64);
  EXPECT_EQ(words(grid,
                  [&](const Lane& lane, Team& team) {
                    const std::uint32_t thread =
                        (lane.thread.z * 4 + lane.thread.y) * 8 + lane.thread.x;
                    EXPECT_EQ(team.lane_of_warp(), thread % 32);
                    ++runs[(lane.block.y * 3 + lane.block.x) * 64 + thread];
                  }),
            "");
  EXPECT_EQ(runs, std::vector<int>(6 * 64, 1));
}

// Sums of 100 numbers by halves: each step reads what other lanes wrote.
std::string sums(bool barrier, float& sum, std::uint64_t seed) {
  return words(
      {{2}, {64}},
      [&](const Lane& lane, Team& team) {
        auto* shared = static_cast<float*>(team.shared());
        const std::uint32_t i = lane.thread.x;
        shared[i] = static_cast<float>(i);
        for (std::uint32_t half = 32; half > 0; half /= 2) {
          if (barrier) team.barrier();
          if (i < half) shared[i] += shared[i + half];
        }
        if (barrier) team.barrier();
        if (i == 17) sum = shared[0];
      },
      seed);
}

TEST(Team, ABarrierWaitsForAllLanes) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    float sum = 0;
    EXPECT_EQ(sums(true, sum, seed), "");
    EXPECT_EQ(sum, 2016.0F);
    EXPECT_EQ(sums(false, sum, seed), "");
    wrong += sum != 2016.0F ? 1 : 0;
  }
  EXPECT_EQ(wrong, 4);
}

TEST(Team, CollectivesHandRoundTheValuesOfAWarp) {
  EXPECT_EQ(words({{1}, {64}},
                  [&](const Lane& lane, Team& team) {
                    const std::uint32_t i = lane.thread.x;
                    EXPECT_EQ(team.shuffle_xor(i, 5), i ^ 5U);
                    EXPECT_EQ(team.broadcast(std::int64_t{i}, 3), std::int64_t{i / 32 * 32 + 3});
                    double sum = i;
                    for (std::uint32_t bits = 16; bits > 0; bits /= 2)
                      sum += team.shuffle_xor(sum, bits);
                    EXPECT_EQ(sum, i < 32 ? 496.0 : 1520.0);
                  }),
            "");
}

TEST(Team, TwoWarpsOfABlockDoNotWaitForEachOther) {
  EXPECT_EQ(words({{1}, {64}},
                  [&](const Lane& lane, Team& team) {
                    const std::uint32_t rounds = lane.thread.x < 32 ? 3 : 7;
                    for (std::uint32_t i = 0; i < rounds; ++i) (void)team.shuffle_xor(i, 1);
                  }),
            "");
}

bool left(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos && text.find("have left") != std::string::npos;
}

TEST(Team, ACollectiveInABranchIsReported) {
  const std::string text = words({{1}, {32}}, [](const Lane& lane, Team& team) {
    if (lane.thread.x < 20) (void)team.shuffle_xor(lane.thread.x, 1);
  });
  EXPECT_TRUE(left(text, "collective of its warp that 12 of 32 lanes")) << text;
  EXPECT_EQ(text.find("block 0 thread 0 waits in line "), 0U) << text;
}

TEST(Team, ABarrierInABranchIsReported) {
  const std::string text = words({{1}, {48}}, [](const Lane& lane, Team& team) {
    if (lane.thread.x != 7) team.barrier();
  });
  EXPECT_TRUE(left(text, "barrier that 1 of 48 lanes")) << text;
}

TEST(Team, ALoopThatSomeLanesLeaveEarlierIsReported) {
  const std::string text = words({{1}, {32}}, [](const Lane& lane, Team& team) {
    for (std::uint32_t i = 0; i < 2 + lane.thread.x / 31; ++i) team.barrier();
  });
  EXPECT_TRUE(left(text, "barrier that 31 of 32 lanes")) << text;
}

TEST(Team, TwoPlacesAreNotOneCollective) {
  const std::string text = words({{1}, {32}}, [](const Lane& lane, Team& team) {
    if (lane.thread.x < 16)
      (void)team.shuffle_xor(1, 1);
    else
      (void)team.shuffle_xor(2, 1);
  });
  EXPECT_TRUE(left(text, "collective of its warp that 16 of 32 lanes")) << text;
  const std::string barriers = words({{1}, {32}}, [](const Lane& lane, Team& team) {
    if (lane.thread.x < 16) {
      team.barrier();
      return;
    }
    team.barrier();
  });
  EXPECT_TRUE(left(barriers, "barrier that 16 of 32 lanes")) << barriers;
}

TEST(Team, ABarrierAgainstACollectiveIsReported) {
  const std::string text = words({{1}, {32}}, [](const Lane& lane, Team& team) {
    if (lane.thread.x < 16)
      team.barrier();
    else
      (void)team.shuffle_xor(2, 1);
  });
  EXPECT_TRUE(left(text, "barrier that 16 of 32 lanes")) << text;
}

TEST(Team, ALaneBeyondTheWarpIsReported) {
  const auto takes_from = [](std::uint32_t source) {
    return words({{1}, {20}}, [&](const Lane&, Team& team) { (void)team.broadcast(1, source); });
  };
  EXPECT_EQ(takes_from(19), "");
  EXPECT_EQ(takes_from(20), "block 0 thread 0 takes from lane 20 of a warp of 20");
}

TEST(Team, TooLittleMemoryAndLimitsFailTheLaunch) {
  alignas(64) std::byte few[256];
  LaunchFault fault;
  run_teams({{1}, {32}}, InOrder{}, {few, sizeof few, 0}, fault,
            [](const Lane&, Team&) { ADD_FAILURE(); });
  EXPECT_STREQ(fault.text(), "the memory of a block has no room for its fibers");
  EXPECT_EQ(words({{1, 65536}, {32}}, [](const Lane&, Team&) { ADD_FAILURE(); }),
            "launch failed: grid.y is 65536, not 1 to 65535");
}

}  // namespace
}  // namespace ropewalk::cuda
