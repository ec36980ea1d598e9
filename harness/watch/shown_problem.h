// The rope_problem that a kernel is shown. It lies in writable memory, and no entry may write to
// it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "harness/call/operands.h"
#include "harness/protocol.h"
#include "harness/watch/entries.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {

template <class Struct>
bool same_bytes(const Struct& a, const Struct& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// A rope_problem or rope_operands with the nodes of its chain, as a caller of a later version may
/// pass them: new fields stand behind those that this version knows (rope_kernel.h, "Growth"). What
/// stands behind is held with the struct: nobody may write there, grown or not. `reversed` chooses
/// the order of the nodes, as a chain may have any. A copy has nodes of its own.
template <class Struct>
class Grown {
  static constexpr std::size_t behind_bytes = 64;
  // of the other version: each field would be 0, or neither 0 nor a usual count or address
  using Behind = std::array<std::byte, behind_bytes>;

 public:
  Struct known;

  explicit Grown(const Struct& given, protocol::Growth growth = protocol::as_in_header,
                 bool reversed = false)
      : known(given), reversed_(reversed) {
    const bool grows = growth != protocol::as_in_header;
    const std::byte filler{growth == protocol::zeros_behind ? std::uint8_t{0} : std::uint8_t{0x5b}};
    if (grows) known.struct_size += behind_bytes;
    behind_.fill(filler);
    for (std::size_t i = 0; i < extension_kinds.size(); ++i) {
      nodes_[i].bytes.fill(filler);
      const rope_ext* const node = extension_of(given.next, extension_kinds[i].kind);
      has_[i] = node != nullptr && bytes_of(extension_kinds[i]) > 0;
      if (!has_[i]) continue;
      std::memcpy(nodes_[i].bytes.data(), node, bytes_of(extension_kinds[i]));
      if (grows) nodes_[i].ext()->struct_size += behind_bytes;
    }
    link(*this);
  }
  Grown(const Grown& other) { *this = other; }
  Grown& operator=(const Grown& other) {
    std::memcpy(static_cast<void*>(this), &other, sizeof other);
    link(*this);
    return *this;
  }
  ~Grown() = default;

  /// What was written since this was equal to `given`, in words; empty: nothing.
  std::string written(const Grown& given) const {
    Grown expected = given;
    expected.link(*this);
    if (same_bytes(*this, expected)) return {};  // comparing byte by byte takes longer than a call
    constexpr bool is_problem = std::is_same_v<Struct, rope_problem>;
    const std::string name = is_problem ? "rope_problem" : "rope_operands";
    for (std::size_t i = 0; i < extension_kinds.size(); ++i)
      if (nodes_[i].bytes != expected.nodes_[i].bytes)
        return std::string("wrote into rope_") + extension_kinds[i].name +
               (is_problem ? "" : "_operands");
    if (!same_bytes(known, expected.known)) return "wrote into " + name;
    return behind_ == expected.behind_ ? "" : "wrote behind its " + name;
  }

 private:
  struct Node {
    alignas(rope_ext) std::array<std::byte, largest_extension_bytes + behind_bytes> bytes;
    rope_ext* ext() { return reinterpret_cast<rope_ext*>(bytes.data()); }
    const rope_ext* ext() const { return reinterpret_cast<const rope_ext*>(bytes.data()); }
  };

  static std::size_t bytes_of(const ExtensionKind& kind) {
    return std::is_same_v<Struct, rope_problem> ? kind.problem_bytes : kind.operand_bytes;
  }
  // Gives this the links that it has where `place` lies.
  void link(const Grown& place) {
    constexpr std::size_t count = extension_kinds.size();
    const rope_ext* next = nullptr;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = reversed_ ? k : count - 1 - k;
      if (!has_[i]) continue;
      nodes_[i].ext()->next = next;
      next = place.nodes_[i].ext();
    }
    known.next = next;
  }

  Behind behind_;
  std::array<Node, extension_kinds.size()> nodes_;
  std::array<bool, extension_kinds.size()> has_;
  bool reversed_;
};
using GrownProblem = Grown<rope_problem>;
using GrownOperands = Grown<rope_operands>;

/// A struct that an entry is shown, and a copy that it does not know the address of.
template <class Struct>
class ShownStruct {
 public:
  explicit ShownStruct(const Struct& given, protocol::Growth growth = protocol::as_in_header,
                       bool reversed = false)
      : given_(given, growth, reversed), shown_(given_) {}

  const Struct* shown() const { return &shown_.known; }
  /// Call after the entry. Throws StepFailed if the entry wrote into the struct.
  void hold(Entry which) const {
    if (const std::string wrote = shown_.written(given_); !wrote.empty())
      entry_failed(which, wrote);
  }

 private:
  Grown<Struct> given_, shown_;
};
using ShownProblem = ShownStruct<rope_problem>;

/// The rope_problem of prepare ends when prepare returns. Its memory is then filled with this
/// pattern, and keeps it while the state lives.
class GoneProblem {
 public:
  void show(const GrownProblem& problem) { problem_ = problem; }
  /// The address at which prepare is shown the problem.
  rope_problem* at() { return &problem_.known; }
  /// What prepare wrote into what it was shown, in words; empty: nothing.
  std::string written(const GrownProblem& given) const { return problem_.written(given); }
  void fill() {
    std::ranges::fill(std::as_writable_bytes(std::span(&problem_, 1)), gone);
    filled_ = true;
  }
  void hold(Entry which) const {
    const auto bytes = std::as_bytes(std::span(&problem_, 1));
    if (filled_ && !std::ranges::all_of(bytes, [](std::byte b) { return b == gone; }))
      entry_failed(which, "wrote into the rope_problem that prepare was shown");
  }

 private:
  static constexpr std::byte gone{0xa5};
  GrownProblem problem_{rope_problem{}};
  bool filled_ = false;
};

}  // namespace ropewalk::harness
