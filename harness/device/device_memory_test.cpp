// What a device's memory copies and compares, with the stand-in for the driver.
#include "harness/device/device_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/process/guarded_mapping.h"
#include "harness/watch/entries.h"

namespace ropewalk::harness {
namespace {

using namespace protocol;

// One tensor of one row of four f32, out of place. Its output is a region of 64 MiB that the shared
// memory holds at both ends only.
class DeviceMemoryTest : public testing::Test {
 protected:
  static constexpr std::uint64_t far_bytes = std::uint64_t{64} << 20;

  DeviceMemoryTest() {
    setenv("ROPEWALK_CUDA_DRIVER", STANDIN_DRIVER, 1);
    const int file = memfd_create("test", 0);
    if (file != memory_descriptor) {
      EXPECT_EQ(dup2(file, memory_descriptor), memory_descriptor);
      close(file);
    }
    EXPECT_EQ(ftruncate(memory_descriptor, static_cast<off_t>(page + far_bytes)), 0);
    put(0, 1);
    put(page, 2);
    put(page + far_bytes - 1, 3);
    std::string why;
    device = Device::open(why);
    EXPECT_NE(device, nullptr) << why;
    call.count = 3;
    call.operands[0] = {Operand::inv_freq, 0, 8, {0, page, 0, 0, 0}};
    call.operands[1] = {Operand::in, 0, 16, {0, page, 16, 0, 0}};
    call.operands[2] = {Operand::out, 0, 16, {page, far_bytes, 0, 1, 0}};
  }

  static void put(std::uint64_t at, char value) {
    EXPECT_EQ(pwrite(memory_descriptor, &value, 1, static_cast<off_t>(at)), 1);
  }
  static char get(std::uint64_t at) {
    char value = 0;
    EXPECT_EQ(pread(memory_descriptor, &value, 1, static_cast<off_t>(at)), 1);
    return value;
  }
  static std::int64_t held_blocks() {
    struct stat s {};
    EXPECT_EQ(fstat(memory_descriptor, &s), 0);
    return s.st_blocks;
  }
  void poke(const void* tensor, std::int64_t offset, char value) {
    device->write(
        reinterpret_cast<cuda::DeviceAddress>(tensor) + static_cast<cuda::DeviceAddress>(offset),
        &value, 1);
  }
  // What collect() says after one byte was written, or "" if it holds.
  std::string after(const std::function<void(const rope_operands&)>& written) {
    DeviceMemory memory(control, *device);
    memory.place(call, false);
    written(memory.operands(call, {}, 0));
    const auto failed = failure_of([&] { memory.collect(); });
    return failed ? failed->text : "";
  }

  const std::uint64_t page = page_bytes();
  Control control{};
  CallDescriptor call{};
  std::unique_ptr<Device> device;
};

TEST_F(DeviceMemoryTest, ModulesAreLoadedEagerlyUnlessItIsSet) {
  EXPECT_STREQ(getenv("CUDA_MODULE_LOADING"), "EAGER");
  setenv("CUDA_MODULE_LOADING", "LAZY", 1);
  std::string why;
  EXPECT_NE(Device::open(why), nullptr) << why;
  EXPECT_STREQ(getenv("CUDA_MODULE_LOADING"), "LAZY");
}

TEST_F(DeviceMemoryTest, OutputsComeBackAndHolesStayHoles) {
  const std::int64_t before = held_blocks();
  EXPECT_EQ(after([&](const rope_operands& o) { poke(o.tensor[0].out, 5, 77); }), "");
  EXPECT_EQ(get(page + 5), 77);
  EXPECT_EQ(get(page), 2);
  EXPECT_EQ(get(page + far_bytes - 1), 3);
  EXPECT_EQ(held_blocks(), before);
}

TEST_F(DeviceMemoryTest, AWriteIntoAHoleIsFoundWithinAMebibyteOfItsEnds) {
  for (const std::int64_t at : {4'096, 1'048'576, 66'060'288, 67'104'767})
    EXPECT_EQ(after([&](const rope_operands& o) { poke(o.tensor[0].out, at, 1); }),
              "apply wrote outside its rows: q.out, byte offset " + std::to_string(at));
}

TEST_F(DeviceMemoryTest, AWriteIntoAnInputIsFoundByItsOffset) {
  EXPECT_EQ(after([&](const rope_operands& o) { poke(o.tensor[0].in, 3, 1); }),
            "apply wrote into q.in, which is read-only: byte offset 3");
  EXPECT_EQ(after([&](const rope_operands& o) { poke(o.tensor[0].in, -16, 9); }),
            "apply wrote into q.in, which is read-only: byte offset -16");
}

TEST_F(DeviceMemoryTest, AWriteIntoAZoneIsFound) {
  const auto in_page = static_cast<std::int64_t>(page);
  EXPECT_EQ(after([&](const rope_operands& o) { poke(o.tensor[0].in, -17, 1); }),
            "apply wrote outside its buffers: 1 bytes before the pages of q.in");
  EXPECT_EQ(after([&](const rope_operands& o) { poke(o.tensor[0].in, in_page - 16, 1); }),
            "apply wrote outside its buffers: 0 bytes behind the pages of q.in");
  const auto zone = static_cast<std::int64_t>(DeviceMemory::usual_zone_bytes);
  EXPECT_EQ(after([&](const rope_operands& o) {
              poke(o.tensor[0].out, static_cast<std::int64_t>(far_bytes) + zone - 1, 1);
            }),
            "apply wrote outside its buffers: 65535 bytes behind the pages of q.out");
}

TEST_F(DeviceMemoryTest, TheLoadTakesABlockWhileCallsAreRepeatedIfThereIsRoom) {
  DeviceMemory memory(control, *device);
  const auto taken = [&] {
    const std::size_t free = device->free_bytes();
    std::size_t left = 0;
    const auto calls = [&] {
      for (int i = 0; i < 1000; ++i) memory.add_load();
      left = device->free_bytes();
    };
    EXPECT_EQ(memory.kept_by(calls), "");
    EXPECT_EQ(device->free_bytes(), free);
    return free - left;
  };
  EXPECT_EQ(taken(), std::size_t{8} << 20);
  setenv("ROPEWALK_STANDIN", "memory=1000000", 1);
  EXPECT_EQ(taken(), 0u);
  unsetenv("ROPEWALK_STANDIN");
}

TEST_F(DeviceMemoryTest, ExactBlocksHoldTheirBuffersAndNoMore) {
  setenv("ROPEWALK_DEVICE_MEMORY", "exact", 1);
  call.operands[2].region.mapped_bytes = page;
  const std::size_t free = device->free_bytes();
  std::size_t left = 0;
  EXPECT_EQ(after([&](const rope_operands&) { left = device->free_bytes(); }), "");
  EXPECT_EQ(free - left, 32u) << "16 bytes for the input, 16 for the output";
}

}  // namespace
}  // namespace ropewalk::harness
