// Numbers that look random. The same seed gives the same numbers on every machine.
#pragma once
#include <sys/random.h>

#include <cstdint>
#include <stdexcept>

namespace ropewalk {

/// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA 2014): a bijection that mixes all bits.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Its step from one state to the next: 2^64 over the golden ratio.
inline constexpr std::uint64_t random_step = 0x9e3779b97f4a7c15u;

/// The next number of splitmix64.
constexpr std::uint64_t next_random(std::uint64_t& state) {
  return mix(state += random_step);
}

/// A number in [0, count); count is above 0.
constexpr std::int64_t random_below(std::int64_t count, std::uint64_t& state) {
  return static_cast<std::int64_t>(next_random(state) % static_cast<std::uint64_t>(count));
}

/// A seed that nothing foresees. A static std::random_device would need glibc 2.36 (arc4random).
inline std::uint64_t fresh_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
    throw std::runtime_error("the system gives no random numbers (getrandom)");
  return seed;
}

}  // namespace ropewalk
