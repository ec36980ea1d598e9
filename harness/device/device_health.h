// The clocks of a device, from the driver's library NVML. They are read and never set. What is
// missing is an empty answer and no error: many machines have a driver without NVML.
#pragma once
#include <string>

namespace ropewalk::harness {

class DeviceHealth {
 public:
  /// Loads the library that ROPEWALK_NVML in the environment names, or else libnvidia-ml.so.1.
  /// `bus_id` is that of Device::bus_id().
  static DeviceHealth open(const std::string& bus_id);

  struct Now {
    int sm_mhz = 0;  ///< of the multiprocessors; 0: not known
    /// The reasons that slow the clocks, like "power cap, thermal". An idle device and clocks that
    /// a user has set are none.
    std::string throttled;
  };
  Now now() const;
  const std::string& driver_version() const { return driver_version_; }  ///< like 580.82.07

 private:
  void* library_ = nullptr;  // never unloaded
  void* device_ = nullptr;   // NULL: not found
  std::string driver_version_;
};

}  // namespace ropewalk::harness
