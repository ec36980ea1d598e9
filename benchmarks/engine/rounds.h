// In which order contestants are timed, round by round.
//
// What ran just before changes what is timed now (caches, frequency after 512-bit code, pages). In
// a Williams design (E. J. Williams, Australian Journal of Scientific Research 2, 1949) each
// contestant stands in each place equally often, and each ordered pair of contestants is neighbours
// equally often. An even number of contestants needs one square, an odd one two.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

namespace ropewalk::bench {

/// The rows of the design for `count` contestants 0 .. count - 1: count rows, or 2 count of them
/// for an odd count above 1. Empty for count < 1.
std::vector<std::vector<int>> williams_design(int count);

/// Orders of at least `rounds` rounds: whole designs, each with its contestants and its rows
/// shuffled by the seed. Empty for count < 1 or rounds < 1.
std::vector<std::vector<int>> round_orders(int count, std::int64_t rounds, std::uint64_t seed);

/// A generator that gives the same numbers everywhere (SplitMix64).
inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A seed that no kernel can know: what is judged, and on which inputs, must not follow from
/// --seed.
inline std::uint64_t fresh_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace ropewalk::bench
