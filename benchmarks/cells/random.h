// Random numbers of the engine.
#pragma once
#include <cstdint>
#include <random>

#include "harness/cases/data.h"

namespace ropewalk::bench {

/// A generator that gives the same numbers on every machine (SplitMix64).
inline std::uint64_t next_random(std::uint64_t& state) {
  return harness::mix(state += 0x9e3779b97f4a7c15u);
}

/// A seed that no kernel can know. Which rounds are judged, and on which inputs, must not follow
/// from --seed.
inline std::uint64_t fresh_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace ropewalk::bench
