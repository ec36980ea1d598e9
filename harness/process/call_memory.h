// Where the buffers of a call lie. There are two such places: the host's memory
// (harness/process/host_memory.h) and a device's (harness/device/device_memory.h).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/call/descriptor.h"
#include "harness/call/operands.h"
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
  /// `control` is told which memory an entry may reach.
  explicit CallMemory(protocol::Control& control) : control_(control) {}

  /// Makes the regions of a call reachable. Those that an earlier call or caller used keep their
  /// addresses. `beside`: the regions of the callers placed before stay as well. Throws StepFailed.
  virtual void place(const protocol::CallDescriptor& call, bool beside) = 0;

  /// Where an operand of the placed call lies. What its problem points to lies in the host's
  /// memory.
  virtual std::byte* address(std::size_t operand) const { return addresses_[operand]; }

  /// The operands of the placed call. Each of several callers has a stream of its own.
  /// The nodes of its chain stay until the caller's next call.
  virtual rope_operands operands(const protocol::CallDescriptor& call, const Workspace& workspace,
                                 std::uint32_t caller) {
    std::vector<Given> given{{Operand::workspace, 0, workspace.address}};
    for (const protocol::OperandPlace& operand : call.given())
      given.push_back({operand.role, operand.tensor, addresses_[given.size() - 1]});
    return operands_at(given, call.nodes, nodes_[caller]);
  }

  /// The outputs of the call that was placed last, with its caches or without.
  WritableMemory writable(const protocol::CallDescriptor& call, bool with_caches) {
    WritableMemory memory(*this);
    for (std::size_t i = 0; i < call.given().size(); ++i) {
      const Operand role = call.given()[i].role;
      if (role != Operand::out && (!with_caches || role != Operand::cache)) continue;
      const protocol::MappedRegion& m = control_.mapped[i];
      memory.add(reinterpret_cast<std::byte*>(m.begin), m.bytes);  // NOLINT: an address as told
    }
    return memory;
  }

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
  /// An operand lies at `at`, in a mapping or block of `bytes` that begins at `begin`.
  void note(std::size_t operand, std::byte* at, std::uint64_t begin, std::uint64_t bytes) {
    addresses_[operand] = at;
    control_.mapped[operand] = {begin, bytes};
  }
  void forget_places() {
    std::fill(std::begin(addresses_), std::end(addresses_), nullptr);
    std::fill(std::begin(control_.mapped), std::end(control_.mapped), protocol::MappedRegion{});
  }

  protocol::Control& control_;
  std::byte* addresses_[protocol::most_operands] = {};
  OperandNodes nodes_[protocol::most_callers];
  Bytes left_in_workspace_;  ///< by the previous call, while states are alive
};

}  // namespace ropewalk::harness
