// The clock of a device, events, graphs and modules, with the stand-in for the driver.
#include "harness/device/device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/watch/entries.h"

namespace ropewalk::harness {
namespace {

using Words = std::vector<std::uint64_t>;

class DeviceClockTest : public testing::Test {
 protected:
  DeviceClockTest() {
    open("");
    EXPECT_NE(device, nullptr) << why;
    stream = device->make_stream();
    cuda::ModuleHandle module = nullptr;
    const char* text = ".entry floor .entry floor_copy .entry update_4 .entry copy_8 .entry other";
    EXPECT_EQ(device->driver().ModuleLoadDataEx(&module, text, 0, nullptr, nullptr), cuda::success);
    kernels = {module, device->driver().ModuleUnload};
  }
  void open(const char* words) {
    setenv("ROPEWALK_CUDA_DRIVER", STANDIN_DRIVER, 1);
    setenv("ROPEWALK_STANDIN", words, 1);
    device = Device::open(why);
  }
  cuda::Result function(const char* name, cuda::FunctionHandle& found) {
    return device->driver().ModuleGetFunction(&found, kernels.get(), name);
  }
  // Puts a kernel on the stream.
  void launch(const char* name, Words parameters) {
    cuda::FunctionHandle kernel = nullptr;
    ASSERT_EQ(function(name, kernel), cuda::success) << name;
    std::vector<void*> places;
    for (std::uint64_t& parameter : parameters) places.push_back(&parameter);
    device->check(
        device->driver().LaunchKernel(kernel, 2, 1, 1, 32, 1, 1, 0, stream, places.data(), nullptr),
        "in a launch");
  }
  cuda::DeviceAddress buffer(const Words& words) {
    const cuda::DeviceAddress address = device->allocate(words.size() * sizeof words[0]);
    device->write(address, words.data(), words.size() * sizeof words[0]);
    return address;
  }
  Words read(cuda::DeviceAddress address, std::size_t count) {
    Words words(count);
    device->read(words.data(), address, count * sizeof words[0]);
    return words;
  }
  template <class Function>
  static std::string failure(const Function& function) {
    const auto failed = failure_of(function);
    return failed ? failed->text : "";
  }

  std::unique_ptr<Device> device;
  std::string why;
  cuda::StreamHandle stream = nullptr;
  cuda::Owned<cuda::ModuleTag> kernels{nullptr, nullptr};
};

TEST_F(DeviceClockTest, AttributesAreRead) {
  open("l2=4096,multiprocessors=7");
  EXPECT_EQ(device->l2_bytes(), 4096);
  EXPECT_EQ(device->multiprocessors(), 7);
}

TEST_F(DeviceClockTest, EventsHaveTheTimeAtWhichTheirStreamReachesThem) {
  const cuda::Driver& d = device->driver();
  const cuda::StreamHandle streams[] = {stream, device->make_stream()};
  cuda::EventHandle events[2] = {};
  float ms = 0;
  for (int i : {0, 1}) {
    ASSERT_EQ(d.EventCreate(&events[i], 0), cuda::success);
    EXPECT_EQ(error_text(d, d.EventElapsedTime(&ms, events[i], events[i])),
              "CUDA error 400 (invalid resource handle)");
    ASSERT_EQ(d.EventRecord(events[i], streams[i]), cuda::success);
  }
  EXPECT_EQ(error_text(d, d.EventElapsedTime(&ms, events[0], events[1])),
            "CUDA error 600 (device not ready)");
  ASSERT_EQ(d.EventSynchronize(events[1]), cuda::success);
  usleep(2000);
  ASSERT_EQ(d.EventSynchronize(events[0]), cuda::success);
  ASSERT_EQ(d.EventElapsedTime(&ms, events[1], events[0]), cuda::success);
  EXPECT_GE(ms, 1.9F) << "the event that was recorded first is reached last";
  for (cuda::EventHandle event : events) EXPECT_EQ(d.EventDestroy(event), cuda::success);
}

TEST_F(DeviceClockTest, HostFunctionsRunAsKernels) {
  const cuda::DeviceAddress x = buffer({1, 2, 3, 4}), y = buffer({5, 6, 7, 8});
  const cuda::DeviceAddress positions = buffer({1, 0});
  DeviceClock clock(*device, stream);
  const DeviceTime time = clock.time([&] {
    launch("floor", {});
    launch("update_4", {x, 1, 3});
    launch("copy_8", {y + 16, x, 1});
    launch("floor_copy", {x, 1, 2, positions, x, y, 1});
  });
  EXPECT_EQ(read(x, 4), (Words{2, 1, 3, 4}));
  EXPECT_EQ(read(y, 4), (Words{5, 6, 2, 1}));
  EXPECT_GE(time.device_s, 0);
  EXPECT_GE(time.host_s, time.device_s * 0.999) << "float holds 24 bits";
}

TEST_F(DeviceClockTest, AFunctionThatIsInNoModuleIsNotFound) {
  cuda::FunctionHandle found = nullptr;
  for (const char* name : {"other", "update_8"})
    EXPECT_EQ(error_text(device->driver(), function(name, found)),
              "CUDA error 500 (named symbol not found)");
}

TEST_F(DeviceClockTest, AReplayReadsNewContents) {
  const cuda::DeviceAddress from = buffer({1, 2}), to = buffer({0, 0});
  DeviceClock clock(*device, stream);
  CapturedGraph graph = clock.record([&] { launch("copy_8", {to, from, 1}); });
  EXPECT_EQ(read(to, 2), (Words{0, 0})) << "a capture runs nothing";
  for (const Words& words : {Words{3, 4}, Words{5, 6}}) {
    device->write(from, words.data(), 16);
    EXPECT_GE(clock.replay(graph, 1).device_s, 0);
    EXPECT_EQ(read(to, 2), words);
  }
}

// Each launch moves the vectors on by one.
TEST_F(DeviceClockTest, EachReplayIsRunAndAMovedClockGoesOn) {
  static_assert(!std::is_copy_constructible_v<DeviceClock>);
  static_assert(!std::is_copy_constructible_v<CapturedGraph>);
  const cuda::DeviceAddress x = buffer({1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  DeviceClock clock(*device, stream);
  CapturedGraph graph = clock.record([&] { launch("copy_8", {x + 16, x, 5}); });
  clock.replay(graph, 3);
  EXPECT_EQ(read(x, 12), (Words{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 3}));
  DeviceClock moved = std::move(clock);
  CapturedGraph kept = std::move(graph);
  moved.replay(kept, 1);
  EXPECT_EQ(read(x, 12), (Words{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2}));
}

TEST_F(DeviceClockTest, WorkThatCannotBeCapturedIsToldInWords) {
  setenv("ROPEWALK_STANDIN", "cannot_capture", 1);
  DeviceClock clock(*device, stream);
  EXPECT_EQ(failure([&] { clock.record([&] { launch("floor", {}); }); }),
            "CUDA error 900 (operation not permitted when stream is capturing) in a launch");
  EXPECT_FALSE(device->is_lost());
  EXPECT_EQ(failure([&] { clock.record([&] { failure([&] { launch("floor", {}); }); }); }),
            "the work cannot be captured into a graph: CUDA error 901 (operation failed due to a "
            "previous error during capture)");
  EXPECT_EQ(failure([&] { clock.time([&] { launch("floor", {}); }); }), "");
}

// The error stays, so it has a process of its own.
TEST_F(DeviceClockTest, AFaultOfAReplayIsToldInWords) {
  DeviceClock clock(*device, stream);
  CapturedGraph graph = clock.record([&] { launch("update_4", {64, 1, 1}); });
  const auto replayed = [&] {
    const std::string text = failure([&] { clock.replay(graph, 2); });
    std::fputs(text.c_str(), stderr);
    _exit(device->is_lost() ? 0 : 1);
  };
  EXPECT_EXIT(replayed(), testing::ExitedWithCode(0),
              "CUDA error 700 .an illegal memory access was encountered. while work was timed");
}

}  // namespace
}  // namespace ropewalk::harness
