// Runs a launch on the host: one lane after another, in the order of their indices or shuffled.
//
//   LaunchFault fault;
//   run_grid(grid, Shuffled{seed}, fault, [&](const Lane& lane) { body(launch, lane, access); });
//
// What it cannot show: effects of memory order between lanes that run at the same time, the
// compiler's own errors, asynchronous copies. Nothing here allocates.
#pragma once
#include <cstdint>

#include "kernels/cuda/host_access.h"
#include "kernels/cuda/launch.h"

namespace ropewalk::cuda {

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

/// The order of the blocks of a launch and of the threads of each block.
struct InOrder {
  struct Identity {
    std::uint64_t operator()(std::uint64_t i) const { return i; }
  };
  Identity blocks(std::uint64_t) const { return {}; }
  Identity threads(std::uint64_t, std::uint64_t) const { return {}; }
};
/// Each seed is another order, and each block has an order of its own.
struct Shuffled {
  std::uint64_t seed;
  Permutation blocks(std::uint64_t count) const { return {count, seed}; }
  Permutation threads(std::uint64_t count, std::uint64_t block) const {
    return {count, seed + (block + 1) * 0x9e3779b97f4a7c15U};
  }
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

/// Calls body(lane) once for each lane of a grid, until there is a fault.
template <class Order, class Body>
void run_grid(const Grid& grid, const Order& order, LaunchFault& fault, Body&& body) {
  if (!within_limits(grid, fault)) return;
  const std::uint64_t blocks = count_of(grid.blocks), threads = count_of(grid.threads);
  const auto block_at = order.blocks(blocks);
  for (std::uint64_t b = 0; b < blocks && !fault.met(); ++b) {
    const std::uint64_t number = block_at(b);
    const Extent block = index_of(grid.blocks, number);
    const auto at = order.threads(threads, number);
    for (std::uint64_t i = 0; i < threads && !fault.met(); ++i)
      body(Lane{block, index_of(grid.threads, at(i)), grid.blocks, grid.threads});
  }
}

}  // namespace ropewalk::cuda
