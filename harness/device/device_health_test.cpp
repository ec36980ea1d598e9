// The clocks of a device, with the stand-in for the driver, which has NVML's functions too.
#include "harness/device/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace ropewalk::harness {
namespace {

class DeviceHealthTest : public testing::Test {
 protected:
  DeviceHealthTest() {
    setenv("ROPEWALK_CUDA_DRIVER", STANDIN_DRIVER, 1);
    set("");
  }
  ~DeviceHealthTest() override { unsetenv("ROPEWALK_NVML"); }
  static void set(const char* words, const char* library = STANDIN_DRIVER) {
    setenv("ROPEWALK_NVML", library, 1);
    setenv("ROPEWALK_STANDIN", words, 1);
  }
  static DeviceHealth open() {
    std::string why;
    const std::unique_ptr<Device> device = Device::open(why);
    EXPECT_NE(device, nullptr) << why;
    return DeviceHealth::open(device->bus_id());
  }
};

void expect_nothing_known(const DeviceHealth& health) {
  const DeviceHealth::Now now = health.now();
  EXPECT_EQ(now.sm_mhz, 0);
  EXPECT_EQ(now.throttled, "");
}

TEST_F(DeviceHealthTest, ClocksAreReadEachTime) {
  set("sm_mhz=1500");
  const DeviceHealth health = open();
  EXPECT_EQ(health.driver_version(), "999.01");
  EXPECT_EQ(health.now().sm_mhz, 1500);
  set("sm_mhz=1400");
  EXPECT_EQ(health.now().sm_mhz, 1400);
}

TEST_F(DeviceHealthTest, OnlyReasonsThatSlowAreTold) {
  const DeviceHealth health = open();
  for (const auto& [words, told] : {std::pair{"throttle=0", ""},
                                    {"throttle=3", ""},
                                    {"throttle=5", "power cap"},
                                    {"throttle=32", "thermal"},
                                    {"throttle=100", "power cap, thermal"},
                                    {"throttle=128", "power brake"},
                                    {"throttle=512", "another reason"}}) {
    set(words);
    EXPECT_EQ(health.now().throttled, told) << words;
  }
}

TEST_F(DeviceHealthTest, WhatIsMissingIsAnEmptyAnswer) {
  expect_nothing_known(DeviceHealth::open("0000:99:00.0"));
  set("no_nvml");
  expect_nothing_known(open());
  for (const char* library : {"/no/such/library.so", "libm.so.6"}) {
    set("", library);
    const DeviceHealth health = open();
    expect_nothing_known(health);
    EXPECT_EQ(health.driver_version(), "");
  }
}

}  // namespace
}  // namespace ropewalk::harness
