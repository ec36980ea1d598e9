// Where the buffers of a call lie. There are two such places: the host's memory
// (harness/process/host_memory.h) and a device's (harness/device/device_memory.h).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "harness/process/extension_chain.h"
#include "harness/process/guarded_mapping.h"
#include "harness/process/writable_memory.h"
#include "harness/protocol.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

inline constexpr std::size_t largest_workspace_bytes = std::size_t{1} << 30;

/// Exactly the bytes that the kernel asked for. In the host's memory they lie at one end of their
/// pages, and the rest of the pages is watched. Zones of a device's memory are watched by
/// CallMemory::collect().
struct Workspace {
  GuardedMapping mapping;  ///< empty for a device
  std::byte* address = nullptr;
  std::size_t bytes = 0;

  bool overrun() const {
    const auto untouched = [](std::byte b) { return b == std::byte{0xff}; };
    return mapping.data() != nullptr &&
           !(std::all_of(mapping.data(), address, untouched) &&
             std::all_of(address + bytes, mapping.data() + mapping.bytes(), untouched));
  }
};

class CallMemory : public MemorySpace {
 public:
  /// What is placed: all regions of a call, the frequencies alone, or all regions beside those of
  /// the callers placed before.
  enum class Part { all, frequencies, all_beside };
  /// Makes the regions of a call reachable. Those that an earlier call or caller used keep their
  /// addresses. Throws StepFailed.
  virtual void place(const protocol::CallDescriptor& call, Part part) = 0;

  /// inv_freq of the placed call, always in the host's memory.
  virtual std::byte* frequencies() const = 0;
  /// axis_of_pair of the placed call, the same; NULL: the positions have no axes.
  virtual std::byte* axis_of_pair() const = 0;

  /// The other buffers of the placed call. Each of several callers has a stream of its own.
  /// The nodes of its chain stay until the caller's next call.
  virtual rope_operands operands(const protocol::CallDescriptor& call, const Workspace& workspace,
                                 std::uint32_t caller) = 0;

  /// The outputs of a placed call, with its caches or without.
  virtual WritableMemory writable(const protocol::CallDescriptor& call, bool with_caches) = 0;

  /// A workspace of this size, of at most largest_workspace_bytes. `at_end`: it ends, or else
  /// begins, at a guard. Throws StepFailed.
  virtual Workspace workspace(std::size_t bytes, bool at_end) = 0;

  /// A caller may hand out one workspace again and again. If it begins at a guard, it holds what
  /// the previous call left, of whichever state.
  void keep_what_is_left(const Workspace& workspace) {
    constexpr std::size_t most = std::size_t{1} << 20;
    left_in_workspace_ = copy(workspace.address, std::min(workspace.bytes, most));
  }
  void forget_what_is_left() { left_in_workspace_.clear(); }

  /// Comes just before an entry apply, and launch() just after it. `as_graph`: apply's work is
  /// captured and launched as a graph, if this memory has such. Both throw StepFailed.
  virtual void begin_apply(const rope_operands&, [[maybe_unused]] bool as_graph) {}
  virtual void launch(const rope_operands&) {}
  /// Comes in place of launch() after an apply that failed. Returns what the memory knows of it.
  virtual std::string why_apply_failed() { return {}; }

  /// Brings the outputs of all placed calls back to the shared memory, and checks what no page
  /// protects. Throws StepFailed.
  virtual void collect() {}

  /// Runs code that makes many calls of apply. Returns what the calls kept, in words.
  virtual std::string kept_by(const std::function<void()>& calls) {
    calls();
    return {};
  }
  /// Call after a release. Returns what the states so far have kept, in words.
  virtual std::string kept_by_states() { return {}; }

  /// Ends a call. Small regions stay, as placing them anew takes long.
  virtual void finish() = 0;
  /// Gives everything back, as a kernel may have unmapped or protected some.
  virtual void unmap_all() = 0;

 protected:
  static bool is_written(const protocol::CallDescriptor& call, std::uint32_t tensor,
                         bool with_caches) {
    return call.tensor[tensor].out.mapped_bytes != 0 &&
           (with_caches || !marks(&call.append, tensor));
  }
  /// `addresses`: of the buffers, by protocol::Region.
  rope_operands operands_at(const protocol::CallDescriptor& call, std::byte* const* addresses,
                            const Workspace& workspace, std::uint32_t caller) {
    rope_operands o{};
    o.struct_size = sizeof o;
    o.positions = addresses[1];
    for (std::uint32_t i = 0; i < ROPE_MAX_TENSORS; ++i) {
      std::byte* const* at = addresses + 2 + 4 * i;
      o.tensor[i] = {at[0], at[1], at[2], at[3]};
    }
    o.workspace = workspace.address;
    OperandNodes& nodes = nodes_[caller] = {};
    if (call.norm.tensors != 0) nodes.norm.ext = {ROPE_EXT_NORM, sizeof nodes.norm, nullptr};
    if (call.append.tensors != 0)
      nodes.append.ext = {ROPE_EXT_APPEND, sizeof nodes.append, nullptr};
    nodes.append.slot = addresses[protocol::slots_region];
    for (std::uint32_t i = 0; i < ROPE_MAX_TENSORS; ++i) {
      nodes.norm.weight[i] = addresses[protocol::weight_region + static_cast<int>(i)];
      if (marks(&call.append, i)) nodes.append.cache[i] = std::exchange(o.tensor[i].out, nullptr);
    }
    o.next = nodes.chain();
    return o;
  }

  OperandNodes nodes_[protocol::most_callers];
  Bytes left_in_workspace_;  ///< by the previous call, while states are alive
};

}  // namespace ropewalk::harness
