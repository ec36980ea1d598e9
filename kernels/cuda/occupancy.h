// What a launch keeps in flight on a multiprocessor, by arithmetic. Little's law says how much is
// needed: the bytes that arrive while one load is on its way (docs/cuda-kernels.md).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch.h"

namespace ropewalk::cuda {

/// The threads of a body that a multiprocessor of sm_80 or sm_90 holds at once. Each of its four
/// parts has 16,384 registers, and a warp takes them 256 at a time. All parts together have room
/// for 2,048 threads and 32 blocks. Range: 1 <= registers <= 255, whole warps in a block.
constexpr std::uint32_t resident_threads(std::uint32_t registers, std::uint32_t threads_of_block) {
  const std::uint32_t of_warp = (registers * 32 + 255) / 256 * 256;
  const std::uint32_t warps = 4 * (16384 / of_warp);
  const std::uint32_t threads = std::min({warps * 32, std::uint32_t{2048}, 32 * threads_of_block});
  return threads / threads_of_block * threads_of_block;
}

/// What a multiprocessor holds of a launch at once, on average over all of them.
struct InFlight {
  double threads, bytes;  ///< bytes of x that its threads load before they store
  double waves;           ///< how often the blocks of the launch fill the device
};

/// Of a wide launch, where no item has fewer heads than the last one of its tensor. `resident` is
/// that of resident_threads(). Range: both counts are above 0.
inline InFlight in_flight(const Launch& launch, double multiprocessors, double resident) {
  const double lanes = static_cast<double>(launch.grid.blocks.x) * launch.grid.threads.x;
  const auto items = static_cast<double>(launch.items);
  InFlight out{std::min(resident, std::min(lanes, items) / multiprocessors), 0,
               lanes / (multiprocessors * resident)};
  const std::size_t most = heads_at_once(launch.pairing, launch.wide);
  for (std::uint32_t i = 0; i < launch.tensors; ++i) {
    const LaunchTensor& t = launch.tensor[i];
    const std::uint64_t end =
        i + 1 < launch.tensors ? launch.tensor[i + 1].first_item : launch.items;
    const std::uint64_t heads = std::min(t.heads / t.groups.divisor, most);
    const double bytes = static_cast<double>(heads) * (launch.pairing == ROPE_HALF_SPLIT ? 32 : 16);
    out.bytes += out.threads * bytes * static_cast<double>(end - t.first_item) / items;
  }
  return out;
}

}  // namespace ropewalk::cuda
