// The functions of benchmarks/ceilings/device_functions.h, loaded into a device, and the stream on
// which all that is timed runs.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "harness/device/device.h"

namespace ropewalk::bench {

class DeviceModule {
 public:
  /// Throws StepFailed. The device outlives the module.
  explicit DeviceModule(harness::Device& device);

  harness::Device& device() const { return device_; }
  /// TimingRow::device
  std::string facts() const;
  harness::cuda::StreamHandle stream() const { return stream_; }
  /// Puts a function on the stream, with blocks of device_block threads. The first call loads
  /// the functions, so it is not for a capture. Throws StepFailed: as skipped, and with what the
  /// driver's compiler says, if it does not take them.
  void launch(const std::string& function, std::uint64_t blocks,
              std::initializer_list<std::uint64_t> parameters) const;

 private:
  void load() const;

  harness::Device& device_;
  harness::cuda::StreamHandle stream_;
  mutable harness::cuda::Owned<harness::cuda::ModuleTag> module_;
};

}  // namespace ropewalk::bench
