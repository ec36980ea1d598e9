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
  using CallMemory::CallMemory;

  void place(const protocol::CallDescriptor& call, bool) override {
    place_if(call, [](Operand) { return true; });
  }
  /// Makes the regions of some roles reachable.
  void place_if(const protocol::CallDescriptor& call, bool (*wanted)(Operand)) {
    try {
      forget_places();
      for (std::size_t i = 0; i < call.given().size(); ++i)
        if (wanted(call.given()[i].role)) map(call.given()[i].region, i);
    } catch (const std::runtime_error& e) {  // too far apart for this machine's addresses
      throw StepFailed{protocol::Status::skipped, e.what()};
    }
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
    control_.mapped[protocol::most_operands] = {reinterpret_cast<std::uint64_t>(w.address),
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

  void map(const protocol::Region& region, std::size_t operand) {
    auto found = find(region);
    if (found == mappings_.end()) {
      const bool writable = region.writable != 0;
      mappings_.push_back({region.file_offset, region.mapped_bytes, writable,
                           GuardedMapping(protocol::memory_descriptor, region.file_offset,
                                          region.mapped_bytes, writable)});
      found = std::prev(mappings_.end());
    }
    const GuardedMapping& mapping = found->mapping;
    note(operand, mapping.data() + region.at, reinterpret_cast<std::uint64_t>(mapping.data()),
         mapping.bytes());
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

  std::vector<Mapped> mappings_;
};

}  // namespace ropewalk::harness
