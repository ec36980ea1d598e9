// A device's memory as the place of a call's buffers. Each region of the shared memory has a block
// of device memory of the same layout, so pointers have the same offsets within a page as on the
// host. Contents are copied in before a call and out after it.
//
// No page protects a device's memory. So each block lies between two zones of poison. After each
// call the zones and everything that a kernel may only read are compared with what was given.
//
// A region of rows that lie far apart is mostly holes, which the shared memory does not hold. A
// hole is zero in the block as well. It is compared in pieces and never written back.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "harness/device/device.h"
#include "harness/process/call_memory.h"
#include "harness/process/host_memory.h"
#include "harness/protocol.h"

namespace ropewalk::harness {

/// A part of the shared memory, reached without mapping it.
struct ByteRange {
  std::uint64_t begin, end;
};

/// To look for a hole, the kernel walks the pages up to it, also those behind the range. So smaller
/// ranges count as held: their holes are few, and are read without being filled.
inline constexpr std::uint64_t least_with_holes = std::uint64_t{64} << 20;

/// The parts of a range of the file that the shared memory holds, from the range's first byte. What
/// lies between them are holes, which are zero. Reading a hole through a mapping would fill it.
std::vector<ByteRange> held_parts(std::uint64_t offset, std::uint64_t bytes);

/// Both take the offset in the file, and throw StepFailed.
std::vector<std::byte> read_shared(std::uint64_t offset, std::size_t bytes);
void write_shared(const std::vector<std::byte>& from, std::uint64_t offset);

// Finds memory of the device that a kernel keeps, by what is free. The driver gives memory out in
// large pieces, so one count may find no difference. Other processes allocate as well, so less free
// memory counts only if it is less three times and nobody else changes it.
class KeptMemory {
 public:
  explicit KeptMemory(Device& device) : device_(device) {}

  /// What three runs of the calls keep, in words; empty: nothing.
  std::string by(const std::function<void()>& calls) {
    std::size_t kept = 0;
    for (int run = 0; run < believed; ++run) {
      const std::size_t before = device_.free_bytes();
      calls();
      if (device_.is_lost()) return {};  // the calls say why
      const std::size_t after = device_.free_bytes();
      if (after >= before) return {};
      kept = before - after;
    }
    if (device_.is_used_by_others()) return {};
    return "kept " + std::to_string(kept) +
           " bytes of device memory, and again when its calls were repeated";
  }

  /// Call once after each release. True if count_states() must be called now, with no memory of the
  /// worker's own on the device.
  bool wants_count() { return ++states_ % together == 0; }
  /// What the states keep, in words; empty: nothing.
  std::string count_states() {
    const std::size_t now = device_.free_bytes();
    const std::size_t before = std::exchange(free_after_states_, now);
    if (before == 0 || now > before) fell_ = 0;
    if (before == 0 || now >= before) return {};
    if (++fell_ < believed || device_.is_used_by_others()) return {};
    fell_ = 0;
    return "release kept device memory: " + std::to_string(before - now) + " bytes in the last " +
           std::to_string(together) + " states";
  }
  /// Another kernel may follow.
  void forget_states() {
    states_ = free_after_states_ = 0;
    fell_ = 0;
  }

 private:
  static constexpr int believed = 3;
  static constexpr std::uint64_t together = 16;

  Device& device_;
  std::uint64_t states_ = 0;
  std::size_t free_after_states_ = 0;
  int fell_ = 0;  // how many times less was free, and never more
};

// Keeps a device busy while calls of a kernel are repeated: fills and copies of a block of the
// suite's own, on a stream of its own. On an idle device the blocks of a kernel begin at once and
// in order, and what nothing joins is done in time. Beside other work they wait, so a race shows.
// At most one batch lies on the stream. A device without room for the block has no load. What the
// driver answers is of no account here: an error that stays is met by the calls themselves.
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

class DeviceMemory final : public CallMemory {
 public:
  /// Bytes of each zone. With ROPEWALK_DEVICE_MEMORY=exact in the environment there are no zones: a
  /// block has the bytes of its buffers and no more, so that compute-sanitizer sees every access
  /// past them.
  static constexpr std::size_t usual_zone_bytes = std::size_t{64} << 10;

  /// Throws StepFailed if the device fails. `control` is told where buffers lie.
  DeviceMemory(protocol::Control& control, Device& device);
  ~DeviceMemory() override;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void place(const protocol::CallDescriptor& call, bool beside) override;
  std::byte* address(std::size_t operand) const override {
    return addresses_[operand] != nullptr ? addresses_[operand] : host_.address(operand);
  }
  rope_operands operands(const protocol::CallDescriptor& call, const Workspace& workspace,
                         std::uint32_t caller) override;
  Workspace workspace(std::size_t bytes, bool at_end) override;
  void begin_apply(const rope_operands& o, bool as_graph) override;
  void launch(const rope_operands& o) override;
  std::string why_apply_failed() override;
  void collect() override;
  std::string kept_by(const std::function<void()>& calls) override;
  std::string kept_by_states() override;
  void finish() override;
  void unmap_all() override;

  Bytes copy(const std::byte* at, std::size_t bytes) override;
  void restore(std::byte* at, const Bytes& content) override;
  bool equals(const std::byte* at, const Bytes& content) override;
  void begin_thread() override { device_.make_current(); }
  void add_load() override { load_.add(); }
  void wait(void* stream) override;
  void wait_for_all(const char* when) override { device_.wait_for_all(when); }
  bool is_lost() const override { return device_.is_lost(); }
  std::string left_changed() override { return device_.left_changed(); }

 private:
  /// Bytes of a region that the shared memory holds.
  struct Extent {
    std::uint64_t at;  ///< from the region's first byte
    Bytes content;
  };
  struct Block {
    std::uint64_t file_offset = 0, region_bytes = 0;  ///< 0 bytes: a workspace
    bool writable = false;
    std::string name;  ///< of the first buffer in it
    /// The part of the region that the block holds: all of it, but for exact blocks.
    std::uint64_t first = 0, bytes = 0;
    DeviceBlock memory;
    std::vector<Extent> given;
    bool is_placed = false;

    cuda::DeviceAddress data() const { return memory.data(); }
  };

  Block* find(const protocol::Region& region);
  Block& place_region(const protocol::CallDescriptor& call, const protocol::OperandPlace& operand);
  void allocate(Block& block, std::size_t shift = 0);
  void retire(Block& workspace);
  void check_retired();
  void drop_workspaces();
  void copy_in(Block& block);
  void write_given(const Block& block);
  void write_all_given();
  void fill_all_with_poison();
  void check_zones(const Block& block);
  void check_unchanged(const Block& block, const Extent& extent, const Bytes& now);
  void check_zero(const Block& block, std::uint64_t begin, std::uint64_t bytes);
  void check_holes(const Block& block);
  void collect_block(Block& block);
  std::vector<Bytes> outputs();
  void release_blocks();
  void launch_graph(cuda::StreamHandle stream);
  cuda::Result end_capture();

  Device& device_;
  HostMemory host_;  ///< of what the problem points to
  std::size_t zone_bytes_ = usual_zone_bytes;
  std::minstd_rand chance_{static_cast<std::uint32_t>(fresh_seed())};
  std::list<Block> blocks_;
  std::optional<Block> retired_;  // the workspace of an earlier call
  cuda::StreamHandle streams_[protocol::most_callers] = {};
  cuda::StreamHandle captured_ = nullptr;  ///< the stream whose work is being captured
  KeptMemory kept_;
  DeviceLoad load_;  ///< beside calls that are repeated
};

}  // namespace ropewalk::harness
