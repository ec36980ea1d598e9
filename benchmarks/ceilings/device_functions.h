// Functions that run on a device beside the kernels: ceilings and floors. They are PTX
// text, which every driver compiles as it loads it, so a machine needs no toolkit.
//
// All parameters have 64 bits and are passed in this order. A vector has 16 bytes, and buffers of
// vectors are aligned to 16. A block has `device_block` threads; the driver refuses another size.
//
//   floor()
//     An empty function.
//   floor_copy(x, row_vectors, rows, positions, cos, sin, table_vectors)
//     One thread for each vector of x, row_vectors * rows < 2^32 in all. Vector v of a row reads
//     the int64 position of its row, vector v mod table_vectors of that row of cos and of sin, and
//     x, which it writes back. Where all bits of cos and sin are set, which are NaNs, x changes.
//   update_V(x, vectors, bits), update_V_streaming
//     Each thread turns over these bits in both halves of V vectors.
//   copy_V(to, from, vectors), copy_V_streaming
//     Each thread copies V vectors. `streaming` marks what is moved as used only once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ropewalk::bench {

inline constexpr unsigned device_block = 256;  ///< threads
inline constexpr unsigned device_vector_bytes = 16;

/// The module of all functions, for cuModuleLoadDataEx.
const std::string& device_functions_text();

struct DeviceLoop {
  std::string name;  ///< e.g. update_4_streaming
  int vectors;       ///< of a thread
  bool streams;
};
/// 1, 2, 4 and 8 vectors a thread, each cached and streaming.
std::vector<DeviceLoop> device_update_loops();
std::vector<DeviceLoop> device_copy_loops();

/// The blocks of a grid in which a thread has `per_thread` vectors. 0 for no vector: a driver
/// launches no such grid. At most 2^31 - 1 blocks are for a driver.
constexpr std::uint64_t blocks_for(std::uint64_t vectors, int per_thread) {
  const std::uint64_t of_block = std::uint64_t{device_block} * static_cast<unsigned>(per_thread);
  return (vectors + of_block - 1) / of_block;
}

}  // namespace ropewalk::bench
