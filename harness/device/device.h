// The CUDA device of a worker: its primary context, which kernels of the runtime API share, and
// what the worker does with its memory.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "harness/device/cuda_driver.h"
#include "harness/device/device_health.h"
#include "harness/process/loaded_kernels.h"

namespace ropewalk::harness {

class Device {
 public:
  /// Opens the first device. Returns NULL and says in `why` what is missing: the driver's library,
  /// a device, graphs, or a driver that is new enough. The driver is first tried in a process of
  /// its own, as it may end the process or hang. One allocation and one copy are made, so that the
  /// threads and descriptors of the driver are there before the worker notes what its process looks
  /// like.
  static std::unique_ptr<Device> open(std::string& why);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }      ///< as the driver tells it
  const std::string& bus_id() const { return bus_id_; }  ///< on PCI, like 0000:3b:00.0
  int capability() const { return capability_; }         ///< 90: compute capability 9.0
  int multiprocessors() const { return multiprocessors_; }
  int l2_bytes() const { return l2_bytes_; }
  const cuda::Driver& driver() const { return driver_; }
  /// Opened with the device, as it takes descriptors.
  const DeviceHealth& health() const { return health_; }

  /// Throws StepFailed if a function of the driver failed. `when` is like "in apply".
  void check(cuda::Result result, const char* when);
  /// True after an error that leaves the context useless.
  bool is_lost() const { return lost_; }

  void make_current();
  /// The name of what an entry changed, in words; then it is put back.
  std::string left_changed();

  /// Returns 0 if the device has no room. `bytes` > 0.
  cuda::DeviceAddress allocate(std::size_t bytes);
  void release(cuda::DeviceAddress address);
  std::size_t free_bytes();
  /// Looks for 0.2 s. True if free memory changes, which is another process as no entry runs.
  bool is_used_by_others();

  /// These three are done when they return, and all that was queued before.
  void write(cuda::DeviceAddress to, const void* from, std::size_t bytes);
  void read(void* to, cuda::DeviceAddress from, std::size_t bytes);
  void fill(cuda::DeviceAddress to, unsigned char value, std::size_t bytes);
  /// These are done after a wait_for_queued(). `from` is free when they return.
  void queue_write(cuda::DeviceAddress to, const void* from, std::size_t bytes);
  void queue_fill(cuda::DeviceAddress to, unsigned char value, std::size_t bytes);
  void wait_for_queued() { wait(copies_, "while buffers were copied in"); }

  cuda::StreamHandle make_stream();
  void wait(cuda::StreamHandle stream, const char* when);
  /// Waits for the work of all streams.
  void wait_for_all(const char* when);

 private:
  Device() = default;
  std::string open_first();

  cuda::Driver driver_{};
  cuda::ContextHandle context_ = nullptr;
  cuda::StreamHandle copies_ = nullptr;
  std::string name_, bus_id_;
  int capability_ = 0, multiprocessors_ = 0, l2_bytes_ = 0;
  DeviceHealth health_;
  std::atomic<bool> lost_{false};  // any thread may meet the error
};

/// Opens the device if a kernel needs one, else returns NULL. Sets what each such kernel cannot run
/// for, or clears it.
std::unique_ptr<Device> open_device_for(std::vector<LoadedKernel>& kernels);

}  // namespace ropewalk::harness
