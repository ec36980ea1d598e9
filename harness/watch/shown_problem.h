// The rope_problem that a kernel is shown. It lies in writable memory, and no entry may write to
// it.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "harness/protocol.h"
#include "harness/watch/entries.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {

template <class Struct>
std::uint32_t& size_of(Struct& s) {
  return s.struct_size;
}
inline std::uint32_t& size_of(rope_axes& s) {
  return s.ext.struct_size;
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

template <class Struct>
bool are_same(const Grown<Struct>& shown, const Grown<Struct>& given) {
  return same_bytes(shown, given);
}

/// A problem with the nodes of its chain. A copy has nodes of its own.
struct GrownProblem : Grown<rope_problem> {
  Grown<rope_axes> axes;  ///< in the chain if the problem has axes

  explicit GrownProblem(const rope_problem& given, protocol::Growth growth = protocol::as_in_header)
      : Grown<rope_problem>(given, growth),
        axes(axes_of(given) != nullptr ? *axes_of(given) : rope_axes{}, growth) {
    link();
  }
  GrownProblem(const GrownProblem& other) : Grown<rope_problem>(other), axes(other.axes) { link(); }
  GrownProblem& operator=(const GrownProblem& other) {
    Grown<rope_problem>::operator=(other);
    axes = other.axes;
    link();
    return *this;
  }
  ~GrownProblem() = default;

 private:
  void link() {
    if (known.next != nullptr) known.next = &axes.known.ext;
  }
};
/// The nodes of the two lie at other addresses.
inline bool are_same(const GrownProblem& shown, const GrownProblem& given) {
  Grown<rope_problem> expected = given;
  if (expected.known.next != nullptr) expected.known.next = &shown.axes.known.ext;
  return same_bytes<Grown<rope_problem>>(shown, expected) && same_bytes(shown.axes, given.axes);
}
/// Which struct of a problem was written, where one was.
inline const char* written(const GrownProblem& shown, const GrownProblem& given) {
  return same_bytes(shown.axes, given.axes) ? "wrote into rope_problem" : "wrote into rope_axes";
}
inline const char* written(const Grown<rope_operands>&, const Grown<rope_operands>&) {
  return "wrote into rope_operands";
}

/// A struct that an entry is shown, and a copy that it does not know the address of.
template <class Struct>
class ShownStruct {
 public:
  explicit ShownStruct(const Struct& given, protocol::Growth growth = protocol::as_in_header)
      : given_(given, growth), shown_(given, growth) {}

  const Struct* shown() const { return &shown_.known; }
  /// Call after the entry. Throws StepFailed if the entry wrote into the struct.
  void hold(Entry which) const {
    if (!are_same(shown_, given_)) entry_failed(which, written(shown_, given_));
  }

 private:
  using Held =
      std::conditional_t<std::is_same_v<Struct, rope_problem>, GrownProblem, Grown<Struct>>;
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
  bool differs_from(const GrownProblem& given) const { return !are_same(problem_, given); }
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
