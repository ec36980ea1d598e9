#include "kernels/cuda/host_launcher.h"

#include <bit>
#include <cstdarg>

namespace ropewalk::cuda {

void LaunchFault::say(const char* format, ...) {
  if (met()) return;
  va_list arguments;
  va_start(arguments, format);
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is the line before
  std::vsnprintf(text_, sizeof text_, format, arguments);
  va_end(arguments);
}

bool within_limits(const Grid& grid, LaunchFault& fault) {
  const auto within = [&](const char* what, std::uint64_t count, std::uint64_t most) {
    if (count == 0 || count > most)
      fault.say("launch failed: %s is %llu, not 1 to %llu", what,
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(most));
  };
  within("grid.x", grid.blocks.x, 0x7fffffff);
  within("grid.y", grid.blocks.y, 0xffff);
  within("grid.z", grid.blocks.z, 0xffff);
  within("block.x", grid.threads.x, 1024);
  within("block.y", grid.threads.y, 1024);
  within("block.z", grid.threads.z, 64);
  within("the number of threads in a block", count_of(grid.threads), 1024);
  return !fault.met();
}

Permutation::Permutation(std::uint64_t count, std::uint64_t seed) : count_(count) {
  mask_ = std::bit_ceil(count) - 1;
  shift_ = static_cast<std::uint32_t>(std::bit_width(mask_) + 1) / 2 + (mask_ < 2 ? 1 : 0);
  for (std::uint64_t& factor : factors_) {
    // The finalizer of splitmix64 spreads a seed over 64 bits.
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
    factor = (mixed ^ mixed >> 31) | 1U;  // odd: a product with it can be undone
  }
}

}  // namespace ropewalk::cuda
