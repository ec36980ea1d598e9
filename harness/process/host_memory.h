// The host's memory: regions of the shared memory, mapped between guards, and a workspace between
// guards of its own.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/system/memory_limits.h"
#include "harness/process/call_memory.h"
#include "harness/process/guarded_mapping.h"
#include "harness/process/step_failed.h"
#include "harness/protocol.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

class HostMemory final : public CallMemory {
 public:
  /// `control` is told which memory an entry may reach.
  explicit HostMemory(protocol::Control& control) : control_(control) {}

  void place(const protocol::CallDescriptor& call, Part part) override {
    try {
      place_all(call, part == Part::frequencies);
    } catch (const std::runtime_error& e) {  // too far apart for this machine's addresses
      throw StepFailed{protocol::Status::skipped, e.what()};
    }
  }

  std::byte* frequencies() const override { return addresses_[0]; }
  std::byte* axis_of_pair() const override { return addresses_[protocol::axis_region]; }

  rope_operands operands(const protocol::CallDescriptor& call, const Workspace& workspace,
                         std::uint32_t caller) override {
    return operands_at(call, addresses_, workspace, caller);
  }

  WritableMemory writable(const protocol::CallDescriptor& call, bool with_caches) override {
    WritableMemory memory(*this);
    for (std::uint32_t i = 0; i < ROPE_MAX_TENSORS; ++i)
      if (is_written(call, i, with_caches)) {
        const GuardedMapping& mapping = find(call.tensor[i].out)->mapping;
        memory.add(mapping.data(), mapping.bytes());
      }
    return memory;
  }

  Workspace workspace(std::size_t bytes, bool at_end) override {
    Workspace w;
    w.bytes = bytes;
    if (w.bytes == 0) return w;
    if (const std::string why = memory_refusal(static_cast<std::int64_t>(w.bytes)); !why.empty())
      throw StepFailed{protocol::Status::skipped, "the workspace " + why};
    w.mapping = GuardedMapping(w.bytes);
    fill(w.mapping);
    constexpr std::size_t alignment = 64;
    w.address =
        w.mapping.data() + (at_end ? (w.mapping.bytes() - w.bytes) / alignment * alignment : 0);
    if (!at_end) {
      const std::size_t kept = std::min(w.bytes, left_in_workspace_.size());
      std::copy_n(left_in_workspace_.begin(), kept, w.address);
    }
    control_.mapped[protocol::workspace_region] = {reinterpret_cast<std::uint64_t>(w.address),
                                                   w.bytes};
    return w;
  }

  // Mapping small regions anew took a fifth of a verification's time.
  void finish() override {
    constexpr std::size_t most = 256, small_bytes = std::size_t{1} << 20;
    std::erase_if(mappings_, [](const Mapped& m) { return m.bytes > small_bytes; });
    if (mappings_.size() > most) mappings_.clear();
  }
  void unmap_all() override { mappings_.clear(); }

  Bytes copy(const std::byte* at, std::size_t bytes) override { return {at, at + bytes}; }
  void restore(std::byte* at, const Bytes& content) override {
    std::memcpy(at, content.data(), content.size());
  }
  bool equals(const std::byte* at, const Bytes& content) override {
    return std::memcmp(at, content.data(), content.size()) == 0;
  }

 private:
  // A part of the shared memory, and its address in this process.
  struct Mapped {
    std::uint64_t file_offset, bytes;
    bool writable;
    GuardedMapping mapping;
  };

  void place_all(const protocol::CallDescriptor& call, bool frequencies_alone) {
    int next = 0;
    const auto map_to = [&](int slot, const protocol::Region& region) {
      addresses_[slot] = nullptr;
      control_.mapped[slot] = {};
      if (region.mapped_bytes == 0) return;
      auto found = find(region);
      if (found == mappings_.end()) {
        const bool writable = region.writable != 0;
        mappings_.push_back({region.file_offset, region.mapped_bytes, writable,
                             GuardedMapping(protocol::memory_descriptor, region.file_offset,
                                            region.mapped_bytes, writable)});
        found = std::prev(mappings_.end());
      }
      const GuardedMapping& mapping = found->mapping;
      addresses_[slot] = mapping.data() + region.at;
      control_.mapped[slot] = {reinterpret_cast<std::uint64_t>(mapping.data()), mapping.bytes()};
    };
    const auto map = [&](const protocol::Region& region) { map_to(next++, region); };
    map(call.inv_freq);
    map_to(protocol::axis_region, call.axis_of_pair);
    if (frequencies_alone) return;
    map(call.positions);
    for (const auto& t : call.tensor) {
      map(t.in);
      map(t.out);
      map(t.cos);
      map(t.sin);
    }
    for (const protocol::Region& weight : call.weight) map(weight);
    map(call.slots);
  }

  std::vector<Mapped>::iterator find(const protocol::Region& region) {
    return std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapped& m) {
      return m.file_offset == region.file_offset && m.bytes == region.mapped_bytes &&
             m.writable == (region.writable != 0);
    });
  }

  // Fills with bytes that are NaN in every type. Of a large workspace only both ends are filled;
  // the rest is 0, as the system gives it.
  static void fill(const GuardedMapping& mapping) {
    constexpr std::size_t end = std::size_t{1} << 18;
    const std::size_t bytes = mapping.bytes();
    std::memset(mapping.data(), 0xff, std::min(bytes, end));
    if (bytes > end) std::memset(mapping.data() + bytes - end, 0xff, end);
  }

  protocol::Control& control_;
  std::vector<Mapped> mappings_;
  std::byte* addresses_[protocol::region_count] = {};
};

}  // namespace ropewalk::harness
