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
#include <list>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/random.h"
#include "harness/device/device.h"
#include "harness/device/device_block.h"
#include "harness/device/device_load.h"
#include "harness/device/kept_memory.h"
#include "harness/process/call_memory.h"
#include "harness/process/host_memory.h"
#include "harness/protocol.h"

namespace ropewalk::harness {

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

  void place(const protocol::CallDescriptor& call, Part part) override;
  std::byte* frequencies() const override { return host_.frequencies(); }
  std::byte* axis_of_pair() const override { return host_.axis_of_pair(); }
  rope_operands operands(const protocol::CallDescriptor& call, const Workspace& workspace,
                         std::uint32_t caller) override;
  WritableMemory writable(const protocol::CallDescriptor& call, bool with_caches) override;
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
  Block& place_region(const protocol::CallDescriptor& call, int slot);
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

  protocol::Control& control_;
  Device& device_;
  HostMemory host_;  ///< of inv_freq and axis_of_pair
  std::size_t zone_bytes_ = usual_zone_bytes;
  std::minstd_rand chance_{static_cast<std::uint32_t>(fresh_seed())};
  std::list<Block> blocks_;
  std::optional<Block> retired_;  // the workspace of an earlier call
  std::byte* addresses_[protocol::region_count] = {};
  cuda::StreamHandle streams_[protocol::most_callers] = {};
  cuda::StreamHandle captured_ = nullptr;  ///< the stream whose work is being captured
  KeptMemory kept_;
  DeviceLoad load_;  ///< beside calls that are repeated
};

}  // namespace ropewalk::harness
