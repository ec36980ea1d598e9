// Runs bodies with barriers, shuffles and shared memory on the host: one fiber a lane, which gives
// the processor away where the body waits for others.
//
//   TeamMemory memory{o->workspace, bytes, shared_bytes};
//   run_teams(grid, Shuffled{seed}, memory, fault, [&](const Lane& lane, Team& team) { ... });
//
// What a device leaves undefined or hangs in is a fault, in words: a barrier or a collective that
// lanes of the block or of the warp have left, or that they reach in different places. All
// collectives are those of a whole warp.
//
// Lanes with a fault are not unwound: a body owns nothing that needs a destructor, and throws
// nothing. Nothing here allocates.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/host_access.h"
#include "kernels/cuda/host_launcher.h"
#include "kernels/cuda/launch.h"

namespace ropewalk::cuda {

inline constexpr std::uint32_t lanes_of_warp = 32;

/// Memory for the fibers of a block, aligned to 64 bytes, with any content.
struct TeamMemory {
  void* memory = nullptr;
  std::size_t bytes = 0;
  std::size_t shared_bytes = 0;  ///< the shared memory of a block is a part of it

  /// The bytes that a block needs.
  static std::size_t bytes_for(const Extent& threads, std::size_t shared_bytes);
};

namespace detail {
struct Fiber;
class Fibers;
}  // namespace detail

/// What a lane does together with the others of its block. Each waiting function must be reached
/// by all lanes that it joins, in the same place of the source.
class Team {
 public:
  /// The place of a call in the source. (clang 14 has no std::source_location.)
  struct Place {
    const char* file = "";
    unsigned line = 0;

    static constexpr Place current(const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) {
      return {file, line};
    }
  };

  Team(detail::Fibers& fibers, detail::Fiber& fiber) : fibers_(&fibers), fiber_(&fiber) {}

  /// Waits for all lanes of the block: __syncthreads().
  void barrier(const Place& place = Place::current());

  /// The value of the lane of the warp whose index differs by `bits`: __shfl_xor_sync() of a full
  /// mask. Range: `bits` < 32; values of at most 8 bytes.
  template <class Value>
  Value shuffle_xor(Value value, std::uint32_t bits, const Place& place = Place::current()) {
    return exchanged(value, lane_of_warp() ^ bits, place);
  }
  /// The value of one lane of the warp: __shfl_sync() of a full mask. Range: `source` < 32.
  template <class Value>
  Value broadcast(Value value, std::uint32_t source, const Place& place = Place::current()) {
    return exchanged(value, source, place);
  }

  /// The shared memory of the block, aligned to 64 bytes. Its content is undefined at first.
  void* shared() const;
  /// The index of the lane in its warp.
  std::uint32_t lane_of_warp() const;
  /// The barriers that this lane has passed (AccessLog).
  std::uint32_t epoch() const;

 private:
  template <class Value>
  Value exchanged(Value value, std::uint32_t source, const Place& place) {
    static_assert(sizeof(Value) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<Value>);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = exchange(bits, source, place);
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::uint64_t exchange(std::uint64_t bits, std::uint32_t source, const Place& place);

  detail::Fibers* fibers_;
  detail::Fiber* fiber_;
};

namespace detail {

/// Runs `run(body, lane, team)` on a fiber for each thread of one block, in this order of threads.
using RunLane = void (*)(const void* body, const Lane& lane, Team& team);
using ThreadOrder = std::uint64_t (*)(const void* order, std::uint64_t i);
void run_block(const Grid& grid, const Extent& block, const TeamMemory& memory, LaunchFault& fault,
               RunLane run, const void* body, ThreadOrder at, const void* order);

}  // namespace detail

/// Calls body(lane, team) once for each lane of a grid, until there is a fault. The lanes of a
/// block run in the given order up to the place where each waits; blocks run one after another.
template <class Order, class Body>
void run_teams(const Grid& grid, const Order& order, const TeamMemory& memory, LaunchFault& fault,
               Body&& body) {
  using Stored = std::remove_reference_t<Body>;
  for_each_block(grid, order, fault, [&](const Extent& block, std::uint64_t number) {
    const auto at = order.threads(count_of(grid.threads), number);
    using At = std::remove_const_t<decltype(at)>;
    detail::run_block(
        grid, block, memory, fault,
        [](const void* its, const Lane& lane, Team& team) {
          (*static_cast<const Stored*>(its))(lane, team);
        },
        &body, [](const void* its, std::uint64_t i) { return (*static_cast<const At*>(its))(i); },
        &at);
  });
}

}  // namespace ropewalk::cuda
