// Runs a launch on the host: one lane after another, in shuffled order.
//
//   LaunchFault fault;
//   run_grid(grid, seed, fault, [&](const Lane& lane) { body(launch, lane, access); });
//
// What it cannot show: effects of memory order between lanes that run at the same time, the
// compiler's own errors, asynchronous copies. Nothing here allocates.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "kernels/cuda/bodies.h"
#include "kernels/cuda/launch.h"

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

  static constexpr std::uint32_t lanes_of_team = 32;  ///< at most: the first one runs all of them
  static float root(float value) { return std::sqrt(value); }
  static void add_team(float (&sum)[lanes_of_team], std::uint32_t lanes, std::uint32_t) {
    for (std::uint32_t apart = lanes / 2; apart > 0; apart /= 2)
      for (std::uint32_t n = 0; n < lanes; ++n)
        if ((n & apart) == 0) sum[n] = sum[n + apart] = sum[n] + sum[n + apart];
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

/// Checks the limits of CUDA: grid.x <= 2^31 - 1, grid.y and grid.z <= 65535, at most 1024 threads
/// in a block with at most 64 in z, and no count 0. A launch outside them fails, and runs no lane.
bool within_limits(const Grid& grid, LaunchFault& fault);

/// An order of 0 .. count - 1 that looks random, without memory: mixes the bits of an index in the
/// least power of two that is not below `count`, until the result is below it.
/// Range: 1 <= count <= 2^63.
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t seed);
  std::uint64_t operator()(std::uint64_t i) const {
    do {
      for (const std::uint64_t factor : factors_) {
        i = (i * factor + (factor >> 32)) & mask_;
        i ^= i >> shift_;
      }
    } while (i >= count_);
    return i;
  }

 private:
  std::uint64_t count_, mask_ = 0, factors_[2] = {};
  std::uint32_t shift_ = 1;
};

inline std::uint64_t count_of(const Extent& e) {
  return std::uint64_t{e.x} * e.y * e.z;
}
/// The index with number i; x runs first, as on a device.
constexpr Extent index_of(const Extent& counts, std::uint64_t i) {
  if (i < counts.x) return {static_cast<std::uint32_t>(i), 0, 0};  // divides nothing in most calls
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): within_limits() refuses a count of 0
  return {static_cast<std::uint32_t>(i % counts.x),
          static_cast<std::uint32_t>(i / counts.x % counts.y),
          static_cast<std::uint32_t>(i / counts.x / counts.y)};
}

/// Calls body(lane) once for each lane of a grid, until there is a fault. Each seed is another
/// order of the blocks, and each block has an order of its own.
template <class Body>
void run_grid(const Grid& grid, std::uint64_t seed, LaunchFault& fault, Body&& body) {
  if (!within_limits(grid, fault)) return;
  const std::uint64_t blocks = count_of(grid.blocks), threads = count_of(grid.threads);
  const Permutation block_at(blocks, seed);
  for (std::uint64_t b = 0; b < blocks && !fault.met(); ++b) {
    const std::uint64_t number = block_at(b);
    const Extent block = index_of(grid.blocks, number);
    const Permutation at(threads, seed + (number + 1) * 0x9e3779b97f4a7c15U);
    for (std::uint64_t i = 0; i < threads && !fault.met(); ++i)
      body(Lane{block, index_of(grid.threads, at(i)), grid.blocks, grid.threads});
  }
}

}  // namespace ropewalk::cuda
