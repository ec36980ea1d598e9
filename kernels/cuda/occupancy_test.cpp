#include "kernels/cuda/occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/host_access.h"
#include "kernels/cuda/host_bodies.h"
#include "kernels/cuda/plan.h"
#include "kernels/cuda/test_call.h"

namespace ropewalk::cuda {
namespace {

// An H100 or H200. By Little's law a multiprocessor needs 26 KB in flight.
constexpr double multiprocessors = 132;
constexpr double bytes_needed = 4.3e12 * 0.8e-6 / multiprocessors;
const DeviceSize device = device_of(132);
constexpr double resident = resident_threads(96, 128);

using Options = PlanOptions (*)(const DeviceSize&);

TEST(Occupancy, ResidentThreadsAreThoseOfNvidiasCalculator) {
  EXPECT_EQ(resident_threads(32, 128), 2048U);
  EXPECT_EQ(resident_threads(40, 128), 1536U);
  EXPECT_EQ(resident_threads(80, 128), 768U);
  EXPECT_EQ(resident_threads(81, 128), 640U);
  EXPECT_EQ(resident_threads(96, 128), 640U);
  EXPECT_EQ(resident_threads(97, 128), 512U);
  EXPECT_EQ(resident_threads(255, 128), 256U);
  EXPECT_EQ(resident_threads(16, 32), 1024U);
  EXPECT_EQ(resident_threads(96, 256), 512U);
  EXPECT_EQ(device.threads_at_once, 132 * 640U);
}

// Calls use(launch, bytes of x) for Llama-3-8B and 70B, each data type and pairing, 1 to 32,768
// tokens.
template <class Use>
void for_each_launch(const PlanOptions& options, Use&& use) {
  for (const std::int64_t heads : {32, 64})
    for (const std::int32_t type : {ROPE_F32, ROPE_F16, ROPE_BF16})
      for (const std::int32_t pairing : {ROPE_HALF_SPLIT, ROPE_INTERLEAVED}) {
        TestShape shape{.data_type = type, .pairing = pairing, .heads = heads, .second_heads = 8};
        shape.head_dim = shape.rotary_dim = 128;
        shape.in_place = true;
        const TestCall call(shape);
        rope_problem p = call.problem();
        for (p.tokens = 1; p.tokens <= 32768; p.tokens += 1 + p.tokens / 256) {
          const Launches all = launches_of(p, call.operands(), options, nullptr);
          ASSERT_EQ(all.count, 1);
          ASSERT_TRUE(all.launch[0].wide);
          ASSERT_TRUE(all.launch[0].small_index);
          const std::int64_t bytes = p.tokens * (heads + 8) * 128 * (type == ROPE_F32 ? 4 : 2);
          use(all.launch[0], static_cast<double>(bytes));
        }
      }
}

// A call that has fewer bytes is all in flight.
TEST(Occupancy, APlanFillsTheDeviceOrHasAllOfTheCallInFlight) {
  for (const Options options : {table_options, phase_options})
    for_each_launch(options(device), [&](const Launch& launch, double bytes) {
      const double needed = std::min(bytes_needed, bytes / multiprocessors);
      ASSERT_GE(in_flight(launch, multiprocessors, resident).bytes, needed * 0.9999)
          << bytes << " bytes, type " << launch.data_type << ", pairing " << launch.pairing;
    });
}

// A unit is one access, and with half_split the two that hold its pairs.
TEST(Occupancy, EachUnitHasALaneWhereTheDeviceHoldsAllOfThem) {
  int held = 0;
  for_each_launch(table_options(device), [&](const Launch& launch, double bytes) {
    if (bytes / (launch.pairing == ROPE_HALF_SPLIT ? 32 : 16) > 132 * 640) return;
    ++held;
    ASSERT_EQ(launch.tensor[0].groups.divisor, launch.tensor[0].heads);
    ASSERT_EQ(launch.tensor[1].groups.divisor, launch.tensor[1].heads);
    ASSERT_GE(launch.grid.blocks.x * launch.grid.threads.x, launch.items);
  });
  EXPECT_GT(held, 100);
}

TEST(Occupancy, OneHeadAtATimeAnd64ThreadsMissWhatIsNeeded) {
  for_each_launch({fits_wide, 1, device}, [&](const Launch& launch, double bytes) {
    if (bytes < multiprocessors * bytes_needed) return;
    EXPECT_LT(in_flight(launch, multiprocessors, 64).bytes, bytes_needed / 10);
    EXPECT_LT(in_flight(launch, multiprocessors, resident).bytes, bytes_needed);
  });
}

// Counts the bytes of x that a lane loads before its first store.
struct CountingAccess : HostAccess {
  std::size_t* loaded;
  bool* stored;

  template <class Unit>
  Unit load(const void* base, std::int64_t offset) const {
    if (!*stored) *loaded += sizeof(Unit);
    return HostAccess::load<Unit>(base, offset);
  }
  template <class Unit>
  void store(void* base, std::int64_t offset, const Unit& unit) const {
    *stored = true;
    HostAccess::store(base, offset, unit);
  }
};

TEST(Occupancy, ABodyLoadsAtOnceWhatTheArithmeticSays) {
  for (const std::int32_t pairing : {ROPE_HALF_SPLIT, ROPE_INTERLEAVED})
    for (const std::uint64_t threads_at_once : {1U, 40U, 1000U})
      for (std::int64_t heads = 1; heads <= 40; ++heads) {
        const TestCall call({.pairing = pairing, .heads = heads});
        const PlanOptions options = phase_options({.threads_at_once = threads_at_once});
        const Launches all = launches_of(call.problem(), call.operands(), options, nullptr);
        LaunchFault fault;
        std::size_t loaded = 0;
        bool stored = false;
        const auto last = static_cast<std::uint32_t>(all.launch[0].items - 1);
        with_body<CudaBodies>(all.launch[0], [&](auto body) {
          body(all.launch[0], Lane{{last, 0, 0}, {0, 0, 0}, {1 << 20}, {1}},
               CountingAccess{HostAccess(fault), &loaded, &stored});
        });
        EXPECT_EQ(fault.text(), std::string());
        EXPECT_EQ(static_cast<double>(loaded), in_flight(all.launch[0], 1, 1).bytes) << heads;
      }
}

}  // namespace
}  // namespace ropewalk::cuda
