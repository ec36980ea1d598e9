// The functions for a device: their values with the stand-in for the driver, their text with ptxas.
#include "benchmarks/ceilings/device_functions.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "base/system/program.h"
#include "harness/device/device.h"

namespace ropewalk::bench {
namespace {

namespace cuda = harness::cuda;
using Words = std::vector<std::uint64_t>;

class DeviceFunctionsTest : public testing::Test {
 protected:
  DeviceFunctionsTest() {
    setenv("ROPEWALK_CUDA_DRIVER", STANDIN_DRIVER, 1);
    setenv("ROPEWALK_STANDIN", "", 1);
    std::string why;
    device = harness::Device::open(why);
    EXPECT_NE(device, nullptr) << why;
    stream = device->make_stream();
    cuda::ModuleHandle module = nullptr;
    EXPECT_EQ(device->driver().ModuleLoadDataEx(&module, device_functions_text().c_str(), 0,
                                                nullptr, nullptr),
              cuda::success);
    functions = {module, device->driver().ModuleUnload};
  }
  void run(const std::string& name, std::uint64_t blocks, Words parameters) {
    cuda::FunctionHandle function = nullptr;
    ASSERT_EQ(device->driver().ModuleGetFunction(&function, functions.get(), name.c_str()),
              cuda::success)
        << name;
    std::vector<void*> places;
    for (std::uint64_t& parameter : parameters) places.push_back(&parameter);
    ASSERT_EQ(device->driver().LaunchKernel(function, static_cast<unsigned>(blocks), 1, 1,
                                            device_block, 1, 1, 0, stream, places.data(), nullptr),
              cuda::success);
    device->wait(stream, "in a test");
  }
  template <class Element>
  cuda::DeviceAddress buffer(const std::vector<Element>& content) {
    const cuda::DeviceAddress address = device->allocate(content.size() * sizeof(Element));
    device->write(address, content.data(), content.size() * sizeof(Element));
    return address;
  }
  template <class Element>
  std::vector<Element> read(cuda::DeviceAddress address, std::size_t count) {
    std::vector<Element> content(count);
    device->read(content.data(), address, count * sizeof(Element));
    return content;
  }

  std::unique_ptr<harness::Device> device;
  cuda::StreamHandle stream = nullptr;
  cuda::Owned<cuda::ModuleTag> functions{nullptr, nullptr};
};

constexpr std::uint64_t pattern = 0x8000'8000'8000'8000;

TEST_F(DeviceFunctionsTest, AnUpdateTurnsBitsOverAndTwoTurnThemBack) {
  const Words before{1, 2, 3, 4, 5, 6};
  const cuda::DeviceAddress x = buffer(before);
  for (const DeviceLoop& loop : device_update_loops()) {
    run(loop.name, blocks_for(2, loop.vectors), {x, 2, pattern});
    EXPECT_EQ(read<std::uint64_t>(x, 6),
              (Words{1 ^ pattern, 2 ^ pattern, 3 ^ pattern, 4 ^ pattern, 5, 6}));
    run(loop.name, blocks_for(2, loop.vectors), {x, 2, pattern});
    EXPECT_EQ(read<std::uint64_t>(x, 6), before);
  }
}

TEST_F(DeviceFunctionsTest, ACopyCopies) {
  const cuda::DeviceAddress from = buffer(Words{1, 2, 3, 4});
  for (const DeviceLoop& loop : device_copy_loops()) {
    const cuda::DeviceAddress to = buffer(Words{0, 0, 0, 0, 9});
    run(loop.name, blocks_for(2, loop.vectors), {to, from, 2});
    EXPECT_EQ(read<std::uint64_t>(to, 5), (Words{1, 2, 3, 4, 9}));
  }
}

TEST_F(DeviceFunctionsTest, FloorsLeaveWhatTheyRead) {
  const cuda::DeviceAddress x = buffer(Words{1, 2, 3, 4}), table = buffer(Words{0, 0, 5, 6});
  const cuda::DeviceAddress positions = buffer(Words{1, 0});
  run("floor", 1, {});
  run("floor_copy", blocks_for(2, 1), {x, 1, 2, positions, table, table, 1});
  EXPECT_EQ(read<std::uint64_t>(x, 4), (Words{1, 2, 3, 4}));
}

TEST(DeviceFunctions, LoopsHaveNamesForTheirShape) {
  ASSERT_EQ(device_update_loops().size(), 8);
  const DeviceLoop last = device_copy_loops().back();
  EXPECT_EQ(last.name, "copy_8_streaming");
  EXPECT_EQ(last.vectors, 8);
  EXPECT_TRUE(last.streams);
}

TEST(DeviceFunctions, BlocksHoldAllVectors) {
  EXPECT_EQ(blocks_for(0, 4), 0);
  EXPECT_EQ(blocks_for(1, 4), 1);
  EXPECT_EQ(blocks_for(1024, 4), 1);
  EXPECT_EQ(blocks_for(1025, 4), 2);
  EXPECT_EQ(blocks_for(std::uint64_t{1} << 40, 8), std::uint64_t{1} << 29);
}

#ifdef PTXAS
// Returns what ptxas says against the text, or nothing. A register that is spilled is an error.
std::string refused(const std::string& text, const std::string& architecture) {
  return run_program(
             {PTXAS, "-arch", architecture, "-warn-spills", "-Werror", "-o", "/dev/null", "-"},
             text, std::chrono::seconds(60))
      .error;
}

TEST(DeviceFunctions, PtxasTakesTheTextAndNoWrongOne) {
  const std::string known = run_program({PTXAS, "--help"}, "").text;
  std::string wrong = device_functions_text();
  wrong.replace(wrong.find("xor.b64"), 7, "xor.b63");
  std::string spilling = device_functions_text();
  spilling.replace(spilling.rfind(".reqntid 256"), 12, ".maxnreg 24");  // copy_8_streaming
  int tried = 0;
  for (const std::string architecture : {"sm_75", "sm_90", "sm_100", "sm_120"})
    if (known.find("'" + architecture + "'") != std::string::npos) {
      ++tried;
      EXPECT_EQ(refused(device_functions_text(), architecture), "") << architecture;
      EXPECT_NE(refused(wrong, architecture), "") << architecture;
    }
  EXPECT_GE(tried, 2);
  EXPECT_NE(refused(spilling, "sm_90"), "");
}
#endif

}  // namespace
}  // namespace ropewalk::bench
