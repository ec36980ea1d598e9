// Reads what NVIDIA's tools say of the machine code of a plugin, and says which functions are not
// as ours must be. The words of the tools are read, so no CUDA toolkit is needed to compile this.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ropewalk::cuda {

/// What `nvcc -Xptxas -v` says of a function that the host launches.
struct Resources {
  std::string architecture, name;  ///< e.g. sm_90, rope_cuda_f32_half_split_wide_i32
  std::int64_t registers = 0, stack_bytes = 0, spill_bytes = 0;
};

/// What `cuobjdump -sass` shows of such a function. Accesses are numbers of instructions. Loads
/// through the path of read-only data (.CONSTANT) are those of tables and positions; all other
/// accesses to global memory are those of x.
struct Instructions {
  std::string architecture, name;
  std::int64_t count = 0;
  std::int64_t wide_loads = 0, narrow_loads = 0;    ///< of x: 16 bytes, and fewer
  std::int64_t wide_stores = 0, narrow_stores = 0;  ///< the same
  std::int64_t constant_loads = 0;
  std::int64_t local = 0;    ///< loads and stores of local memory
  std::int64_t generic = 0;  ///< accesses whose memory space is found out when they run
  std::int64_t calls = 0;    ///< calls of other code, and returns from code that was called
};

std::vector<Resources> resources_in(const std::string& ptxas);
std::vector<Instructions> instructions_in(const std::string& sass);

/// What is wrong with a function, in words; empty: nothing. No function has a stack, spills,
/// accesses local memory, accesses by generic addresses, or calls another. A function with _wide_
/// in its name accesses x by 16 bytes only.
std::string fault_of(const Resources& function);
std::string fault_of(const Instructions& function);

}  // namespace ropewalk::cuda
