// The positions of timed calls. They differ from call to call, at the same address.
#pragma once
#include <cstdint>
#include <vector>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// What the next call gets follows from the last: each position is one further, round a window of
/// `window` rows. A cold workload has positions of its own in each call. A small value: the
/// timed loop works on a copy in registers.
struct MovingPositions {
  const std::int32_t* first;  ///< before the first step; of a cold workload those of all calls
  void* read;                 ///< where the kernel reads them, as int32 or int64
  std::int64_t tokens;        ///< of the whole batch, once for each axis
  bool is_cold, is_wide;
  std::int32_t window;  ///< a power of two
  std::int32_t step = 0;
  std::int64_t at = 0;  ///< in `first`, of a cold workload

  void move_on() {
    move(1);
    write();
  }
  /// Those of the last call, or of the one so many calls before. [axes, tokens]
  std::vector<std::int32_t> positions(std::int64_t calls_before) const {
    MovingPositions then = *this;
    then.move(-calls_before);
    std::vector<std::int32_t> out(then.first + then.at, then.first + then.at + tokens);
    for (std::int32_t& position : out) position += then.step;
    return out;
  }
  void write() const {
    with_read([&](auto* to) {
      for (std::int64_t i = 0; i < tokens; ++i) to[i] = first[at + i] + step;
    });
  }
  /// Whether they are there as they were written. Allocates nothing, as the heap is watched.
  bool are_whole() const {
    bool whole = true;
    with_read([&](const auto* from) {
      for (std::int64_t i = 0; i < tokens; ++i) whole = whole && from[i] == first[at + i] + step;
    });
    return whole;
  }

 private:
  static std::int64_t around(std::int64_t number, std::int64_t count) {
    return (number % count + count) % count;
  }
  void move(std::int64_t calls) {
    if (is_cold)
      at = around(at + calls * tokens, cold_position_count);
    else
      step = static_cast<std::int32_t>((step + calls) & (window - 1));
  }
  template <class Use>
  void with_read(Use&& use) const {
    if (is_wide)
      use(static_cast<std::int64_t*>(read));
    else
      use(static_cast<std::int32_t*>(read));
  }
};

}  // namespace ropewalk::bench
