// Keeps a device busy while calls of a kernel are repeated: fills and copies of a block of the
// suite's own, on a stream of its own. On an idle device the blocks of a kernel begin at once and
// in order, and what nothing joins is done in time. Beside other work they wait, so a race shows.
// At most one batch lies on the stream. A device without room for the block has no load. What the
// driver answers is of no account here: an error that stays is met by the calls themselves.
#pragma once
#include <cstddef>
#include <mutex>

#include "harness/device/device.h"

namespace ropewalk::harness {

class DeviceLoad {
 public:
  explicit DeviceLoad(Device& device) : device_(device), stream_(device.make_stream()) {}
  ~DeviceLoad() { end(); }

  /// Comes before free memory is counted, as it takes some. Throws StepFailed.
  void begin() {
    end();
    block_ = device_.allocate(bytes);
  }

  /// Queues a batch, unless there is work of an earlier one. Any thread may call this.
  void add() {
    const std::unique_lock held(lock_, std::try_to_lock);
    const cuda::Driver& d = device_.driver();
    if (!held || block_ == 0 || d.StreamQuery(stream_) != cuda::success) return;
    // Work of all sizes: the first fills the device several times, and the last a part of it.
    for (std::size_t part = bytes / 2; part >= bytes / 64; part /= 2) {
      d.MemsetD8Async(block_, 0x5a, 2 * part, stream_);
      d.MemcpyDtoDAsync(block_ + part, block_, part, stream_);
    }
  }

  /// Waits for the last batch, and gives the block back.
  void end() {
    if (block_ == 0) return;
    if (!device_.is_lost()) device_.driver().StreamSynchronize(stream_);
    device_.release(block_);
    block_ = 0;
  }

 private:
  static constexpr std::size_t bytes = std::size_t{8} << 20;

  Device& device_;
  cuda::StreamHandle stream_;
  cuda::DeviceAddress block_ = 0;
  std::mutex lock_;
};

}  // namespace ropewalk::harness
