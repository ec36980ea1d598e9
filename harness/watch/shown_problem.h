// The rope_problem that a kernel is shown. It lies in writable memory, and no entry may write to
// it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

#include "harness/protocol.h"
#include "harness/watch/entries.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {

template <class Struct>
std::uint32_t& size_of(Struct& s) {
  if constexpr (requires { s.ext; })
    return s.ext.struct_size;
  else
    return s.struct_size;
}

template <class Struct>
bool same_bytes(const Struct& a, const Struct& b) {
  return std::ranges::equal(std::as_bytes(std::span(&a, 1)), std::as_bytes(std::span(&b, 1)));
}

/// A struct of the contract as a caller of a later version passes it: new fields stand behind those
/// that this version knows (rope_kernel.h, "Growth").
/// What stands behind is checked with the struct: nobody may write there, grown or not.
template <class Struct>
struct Grown {
  Struct known;
  std::array<std::byte, 64> behind;

  explicit Grown(const Struct& given, protocol::Growth growth = protocol::as_in_header)
      : known(given) {
    if (growth != protocol::as_in_header) size_of(known) = sizeof(Grown);
    // Each field behind would be 0, or neither 0 nor a usual count or address.
    behind.fill(growth == protocol::zeros_behind ? std::byte{0} : std::byte{0x5b});
  }
};

/// The kind of a node, and what an entry did that changed it.
struct NodeTraits {
  std::uint32_t kind;
  const char* written;
};
template <class Node>
inline constexpr NodeTraits traits_of{};
template <>
inline constexpr NodeTraits traits_of<rope_axes>{ROPE_EXT_AXES, "wrote into rope_axes"};
template <>
inline constexpr NodeTraits traits_of<rope_norm>{ROPE_EXT_NORM, "wrote into rope_norm"};
template <>
inline constexpr NodeTraits traits_of<rope_append>{ROPE_EXT_APPEND, "wrote into rope_append"};
template <>
inline constexpr NodeTraits traits_of<rope_norm_operands>{ROPE_EXT_NORM,
                                                          "wrote into rope_norm_operands"};
template <>
inline constexpr NodeTraits traits_of<rope_append_operands>{ROPE_EXT_APPEND,
                                                            "wrote into rope_append_operands"};

/// A struct with the nodes of its chain, in an order that `reversed` chooses, as a chain may have
/// any. A copy has nodes of its own.
template <class Base, class... Nodes>
class GrownChain : public Grown<Base> {
 public:
  explicit GrownChain(const Base& given, protocol::Growth growth = protocol::as_in_header,
                      bool reversed = false)
      : Grown<Base>(given, growth),
        nodes_(Grown<Nodes>(node_of<Nodes>(given), growth)...),
        reversed_(reversed) {
    link(*this);
  }
  GrownChain(const GrownChain& other)
      : Grown<Base>(other), nodes_(other.nodes_), reversed_(other.reversed_) {
    link(*this);
  }
  GrownChain& operator=(const GrownChain& other) {
    Grown<Base>::operator=(other);
    nodes_ = other.nodes_;
    reversed_ = other.reversed_;
    link(*this);
    return *this;
  }
  ~GrownChain() = default;

  /// Which node differs from what was given, in words; NULL: none does.
  const char* written_node(const GrownChain& given) const {
    const GrownChain expected = given.at(*this);
    const char* found = nullptr;
    const auto look = [&]<class Node>(const Grown<Node>& mine) {
      if (!same_bytes(mine, std::get<Grown<Node>>(expected.nodes_)))
        found = traits_of<Node>.written;
    };
    (look(std::get<Grown<Nodes>>(nodes_)), ...);
    return found;
  }
  bool equals(const GrownChain& given) const {
    const GrownChain expected = given.at(*this);
    return same_bytes<Grown<Base>>(*this, expected) && written_node(given) == nullptr;
  }

 private:
  template <class Node>
  static Node node_of(const Base& given) {
    const rope_ext* const found = extension_of(given.next, traits_of<Node>.kind);
    return found == nullptr ? Node{} : *reinterpret_cast<const Node*>(found);
  }
  // This, with the links that it has where another lies.
  GrownChain at(const GrownChain& place) const {
    GrownChain out = *this;
    out.link(place);
    return out;
  }
  void link(const GrownChain& place) {
    constexpr std::size_t count = sizeof...(Nodes);
    rope_ext* const mine[] = {&std::get<Grown<Nodes>>(nodes_).known.ext...};
    const rope_ext* const theirs[] = {&std::get<Grown<Nodes>>(place.nodes_).known.ext...};
    const rope_ext* next = nullptr;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = reversed_ ? k : count - 1 - k;
      if (mine[i]->kind == 0) continue;
      mine[i]->next = next;
      next = theirs[i];
    }
    this->known.next = next;
  }

  std::tuple<Grown<Nodes>...> nodes_;
  bool reversed_;
};
using GrownProblem = GrownChain<rope_problem, rope_axes, rope_norm, rope_append>;
using GrownOperands = GrownChain<rope_operands, rope_norm_operands, rope_append_operands>;

/// A struct that an entry is shown, and a copy that it does not know the address of.
template <class Struct>
class ShownStruct {
 public:
  explicit ShownStruct(const Struct& given, protocol::Growth growth = protocol::as_in_header,
                       bool reversed = false)
      : given_(given, growth, reversed), shown_(given, growth, reversed) {}

  const Struct* shown() const { return &shown_.known; }
  /// Call after the entry. Throws StepFailed if the entry wrote into the struct.
  void hold(Entry which) const {
    constexpr const char* base = std::is_same_v<Struct, rope_problem> ? "wrote into rope_problem"
                                                                      : "wrote into rope_operands";
    if (shown_.equals(given_)) return;
    const char* const node = shown_.written_node(given_);
    entry_failed(which, node != nullptr ? node : base);
  }

 private:
  using Held =
      std::conditional_t<std::is_same_v<Struct, rope_problem>, GrownProblem, GrownOperands>;
  Held given_;
  Held shown_;
};
using ShownProblem = ShownStruct<rope_problem>;

/// The rope_problem of prepare ends when prepare returns. Its memory is then filled with this
/// pattern, and keeps it while the state lives.
class GoneProblem {
 public:
  void show(const GrownProblem& problem) { problem_ = problem; }
  /// The address at which prepare is shown the problem.
  rope_problem* at() { return &problem_.known; }
  /// True if prepare wrote into what it was shown.
  bool differs_from(const GrownProblem& given) const { return !problem_.equals(given); }
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
