#include "kernels/cuda/access_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/fibers.h"
#include "kernels/cuda/host_launcher.h"

namespace ropewalk::cuda {
namespace {

using Float = Elements<float, 1>;
using Four = Elements<float, 4>;
constexpr std::int64_t size = sizeof(float);

// An input and an output of 64 floats, and a log of what a body does to them.
class AccessLogs : public ::testing::Test {
 protected:
  // What the log says of a body, in shuffled order.
  template <class Body>
  std::string words(const Grid& grid, Body&& body) {
    return words_of(grid, Shuffled{3}, body);
  }
  template <class Order, class Body>
  std::string words_of(const Grid& grid, const Order& order, Body&& body) {
    LaunchFault fault;
    AccessLog log = made(fault);
    run_grid(grid, order, fault,
             [&](const Lane& lane) { body(lane, LoggedAccess(fault, log, lane)); });
    return fault.text();
  }
  AccessLog made(LaunchFault& fault) {
    memory_.assign(AccessLog::bytes_for(2 * sizeof x), std::byte{0xee});
    AccessLog log(memory_.data(), memory_.size(), fault);
    log.allow(x, sizeof x, Rights::read_only, "x");
    log.allow(y, sizeof y, Rights::read_and_write, "y");
    return log;
  }

  alignas(64) float x[64] = {}, y[64] = {};
  std::vector<std::byte> memory_;
};

std::int64_t number(const Lane& lane) {
  return std::int64_t{lane.block.x} * lane.threads.x + lane.thread.x;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(AccessLogs, ABodyOfElementsOfItsOwnIsClean) {
  EXPECT_EQ(words({{4}, {16}},
                  [&](const Lane& lane, const LoggedAccess& access) {
                    const std::int64_t at = number(lane) * size;
                    access.store(y, at, access.load<Float>(x, at));
                    access.store(y, at, access.load<Float>(y, at));  // its own, again
                  }),
            "");
}

TEST_F(AccessLogs, TwoWritersAreNamed) {
  EXPECT_EQ(words_of({{1}, {4}}, InOrder{},
                     [&](const Lane& lane, const LoggedAccess& access) {
                       access.store(y, lane.thread.x / 2 * size, Float{});
                     }),
            "an element of y is written by two threads: block 0 thread 0 and block 0 thread 1");
  // Half of an access is enough.
  EXPECT_TRUE(has(words({{1}, {2}},
                        [&](const Lane& lane, const LoggedAccess& access) {
                          if (lane.thread.x == 0)
                            access.store(y, 0, Four{});
                          else
                            access.store(y, 3 * size, Float{});
                        }),
                  "written by two threads"));
}

TEST_F(AccessLogs, AReaderAndAWriterAreNamedInEitherOrder) {
  const auto body = [&](std::int64_t reads) {
    return [&, reads](const Lane& lane, const LoggedAccess& access) {
      const std::int64_t i = number(lane);
      if (i == reads) (void)access.load<Float>(y, 5 * size);
      if (i == 2) access.store(y, 5 * size, Float{});
    };
  };
  const Grid grid{{2}, {2}};
  EXPECT_EQ(words_of(grid, InOrder{}, body(1)),
            "an element of y is written by block 1 thread 0, read by block 0 thread 1");
  EXPECT_EQ(words_of(grid, InOrder{}, body(3)),
            "an element of y is written by block 1 thread 0, read by block 1 thread 1");
  EXPECT_EQ(words_of(grid, InOrder{}, body(2)), "");
}

// The writer has read the element too, and so have two others: they are found.
TEST_F(AccessLogs, AWriterAmongSeveralReadersIsSeen) {
  const auto body = [&](std::uint32_t writer) {
    return [&, writer](const Lane& lane, const LoggedAccess& access) {
      if (lane.thread.x < 3) (void)access.load<Float>(y, 0);
      if (lane.thread.x == writer) access.store(y, 0, Float{});
    };
  };
  for (const std::uint32_t writer : {0U, 1U, 2U, 3U})
    EXPECT_TRUE(has(words({{1}, {4}}, body(writer)), "read by")) << writer;
}

TEST_F(AccessLogs, AnAccessOutsideTouchesNothing) {
  const Grid one{{1}, {1}};
  std::vector<float> other(4, 1.0F);
  EXPECT_EQ(
      words(one, [&](const Lane&,
                     const LoggedAccess& access) { access.store(other.data(), 0, Float{{5}}); }),
      "block 0 thread 0 writes outside the operands");
  EXPECT_EQ(other[0], 1.0F);
  EXPECT_EQ(words(one,
                  [&](const Lane&, const LoggedAccess& access) {
                    EXPECT_EQ(access.load<Float>(other.data(), 0).at[0], 0.0F);
                  }),
            "block 0 thread 0 reads outside the operands");
  EXPECT_EQ(
      words(one, [&](const Lane&, const LoggedAccess& access) { access.store(x, 0, Float{{5}}); }),
      "block 0 thread 0 writes x, which may only be read");
  EXPECT_EQ(x[0], 0.0F);
}

TEST_F(AccessLogs, AMisalignedAccessIsNamed) {
  EXPECT_EQ(words({{1}, {1}},
                  [&](const Lane&, const LoggedAccess& access) {
                    (void)access.load_constant<Four>(x, size);
                  }),
            "misaligned: a load of 16 bytes 4 bytes behind a multiple of its width");
}

TEST_F(AccessLogs, ALogWithoutRoomSaysSo) {
  LaunchFault fault;
  memory_.resize(AccessLog::bytes_for(8));
  AccessLog log(memory_.data(), memory_.size(), fault);
  log.allow(x, sizeof x, Rights::read_only, "x");
  EXPECT_STREQ(fault.text(), "the log has no room for x");
}

// Elements go from lane to lane through memory: in order with a barrier, a race without one, and a
// race of two blocks even with one.
TEST_F(AccessLogs, ABarrierGivesTheLanesOfABlockAnOrder) {
  std::vector<std::byte> stacks(TeamMemory::bytes_for({16}, 0) + 64);
  const auto words_with = [&](const Grid& grid, bool barrier, std::int64_t writes_of_a_block) {
    LaunchFault fault;
    AccessLog log = made(fault);
    const auto at = reinterpret_cast<std::uintptr_t>(stacks.data());
    const TeamMemory memory{stacks.data() + (64 - at % 64), stacks.size() - 64, 0};
    run_teams(grid, Shuffled{5}, memory, fault, [&](const Lane& lane, Team& team) {
      LoggedAccess access(fault, log, lane);
      const std::int64_t block = lane.block.x * writes_of_a_block, i = lane.thread.x;
      access.store(y, (block + i) * size, Float{});
      if (barrier) {
        team.barrier();
        access.passed_barrier();
      }
      (void)access.load<Float>(y, (block + (i + 1) % 16) * size);
    });
    return std::string(fault.text());
  };
  EXPECT_EQ(words_with({{2}, {16}}, true, 16), "");
  EXPECT_TRUE(has(words_with({{2}, {16}}, false, 16), "read by"));
  EXPECT_TRUE(has(words_with({{2}, {16}}, true, 15), "written by"));
}

}  // namespace
}  // namespace ropewalk::cuda
