// How a body reaches memory when the host runs it, and what went wrong in a launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "kernels/api/half.h"
#include "kernels/cuda/bodies.h"

namespace ropewalk::cuda {

/// The first fault of a launch, in words. A launch with a fault has failed; its outputs are
/// undefined, as those of a device are after an error. Allocates nothing.
class LaunchFault {
 public:
  bool met() const { return text_[0] != '\0'; }
  /// Empty if there was none.
  const char* text() const { return text_; }

  /// Keeps the words of the first fault, and forgets those of later ones. Arguments as of printf.
  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...);

 private:
  char text_[200] = "";
};

/// Reads and writes memory of the host, and converts by half.h. An address that is not a multiple
/// of the width fails the launch, as on a device: nothing is read or written there.
class HostAccess {
 public:
  explicit HostAccess(LaunchFault& fault) : fault_(&fault) {}

  template <class Unit>
  Unit load(const void* base, std::int64_t offset) const {
    const auto* at = static_cast<const std::byte*>(base) + offset;
    Unit unit{};
    if (aligned(at, sizeof(Unit), "a load")) std::memcpy(&unit, at, sizeof(Unit));
    return unit;
  }
  template <class Unit>
  Unit load_constant(const void* base, std::int64_t offset) const {
    return load<Unit>(base, offset);
  }
  template <class Unit>
  void store(void* base, std::int64_t offset, const Unit& unit) const {
    auto* at = static_cast<std::byte*>(base) + offset;
    if (aligned(at, sizeof(Unit), "a store")) std::memcpy(at, &unit, sizeof(Unit));
  }

  template <class Data, std::size_t count>
  static constexpr Elements<float, count> to_floats(const Elements<Data, count>& from) {
    Elements<float, count> out{};
    for (std::size_t i = 0; i < count; ++i) out.at[i] = static_cast<float>(from.at[i]);
    return out;
  }
  template <class Data, std::size_t count>
  static constexpr Elements<Data, count> from_floats(const Elements<float, count>& from) {
    Elements<Data, count> out{};
    for (std::size_t i = 0; i < count; ++i) out.at[i] = Data(from.at[i]);
    return out;
  }

 private:
  bool aligned(const void* at, std::size_t width, const char* what) const {
    if (reinterpret_cast<std::uintptr_t>(at) % width == 0) [[likely]]
      return true;
    fault_->say("misaligned: %s of %zu bytes %zu bytes behind a multiple of its width", what, width,
                reinterpret_cast<std::uintptr_t>(at) % width);
    return false;
  }

  LaunchFault* fault_;
};

}  // namespace ropewalk::cuda
