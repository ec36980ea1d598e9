// Memory of a device between zones of poison, as no page protects it.
#pragma once
#include <cstddef>
#include <string>

#include "harness/device/device.h"

namespace ropewalk::harness {

class DeviceBlock {
 public:
  DeviceBlock() = default;
  /// The zones are there after a wait_for_queued(). Throws StepFailed, as skipped if the device has
  /// no room. The device outlives the memory. `before`, `behind`: bytes of the zones, all
  /// `pattern`: a finite number, as what is computed from a NaN is the same NaN, or 0xff, which is
  /// one.
  DeviceBlock(Device& device, std::size_t bytes, const std::string& name, std::size_t before = 0,
              std::size_t behind = 256, unsigned char pattern = 0xa5);
  ~DeviceBlock();
  DeviceBlock(DeviceBlock&& other) noexcept { *this = static_cast<DeviceBlock&&>(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;

  cuda::DeviceAddress data() const { return begin_ + before_; }
  void* pointer() const;  ///< NULL if there is no memory
  std::size_t bytes() const { return bytes_; }
  /// Where something was written into a zone: "1 bytes before", "0 bytes behind"; empty: nowhere.
  /// It says so once, so that no other kernel is blamed.
  std::string touched() const;

 private:
  Device* device_ = nullptr;
  cuda::DeviceAddress begin_ = 0;  ///< of the zone before
  std::size_t before_ = 0, bytes_ = 0, behind_ = 0;
  unsigned char pattern_ = 0;
};

}  // namespace ropewalk::harness
