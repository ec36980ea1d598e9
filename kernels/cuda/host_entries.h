// The entries of a kernel whose bodies the host launcher runs, in shuffled order. The body of a
// launch is chosen by its data type, pairing, width and index, as the table of functions in
// cuda_kernels.cu does on a device.
#pragma once
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "kernels/api/half.h"
#include "kernels/common/turn_fractions.h"
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/heads.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/plan.h"

namespace ropewalk::cuda {

// Runs a launch on the host: one lane after another, in shuffled order.
//
//   LaunchFault fault;
//   run_grid(grid, seed, fault, [&](const Lane& lane) { body(launch, lane, access); });
//
// What it cannot show: effects of memory order between lanes that run at the same time, the
// compiler's own errors, asynchronous copies. Nothing here allocates.

/// The first fault of a launch, in words. A launch with a fault has failed; its outputs are
/// undefined, as those of a device are after an error. Allocates nothing.
class LaunchFault {
 public:
  bool met() const { return text_[0] != '\0'; }
  /// Empty if there was none.
  const char* text() const { return text_; }

  /// Keeps the words of the first fault, and forgets those of later ones. Arguments as of printf.
  [[gnu::format(printf, 2, 3)]] void say(const char* format, ...) {
    if (met()) return;
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is the line before
    std::vsnprintf(text_, sizeof text_, format, arguments);
    va_end(arguments);
  }

 private:
  char text_[200] = "";
};

/// Reads and writes memory of the host, and converts by half.h. An address that is not a multiple
/// of the width fails the launch, as on a device: nothing is read or written there.
class HostAccess {
 public:
  explicit HostAccess(LaunchFault& fault) : fault_(&fault) {}

  template <class Unit>
  Unit load(const void* base, std::int64_t offset) const {
    const auto* at = static_cast<const std::byte*>(base) + offset;
    Unit unit{};
    if (aligned(at, sizeof(Unit), "a load")) std::memcpy(&unit, at, sizeof(Unit));
    return unit;
  }
  template <class Unit>
  Unit load_constant(const void* base, std::int64_t offset) const {
    return load<Unit>(base, offset);
  }
  template <class Unit>
  void store(void* base, std::int64_t offset, const Unit& unit) const {
    auto* at = static_cast<std::byte*>(base) + offset;
    if (aligned(at, sizeof(Unit), "a store")) std::memcpy(at, &unit, sizeof(Unit));
  }

  static constexpr std::uint32_t lanes_of_team = 32;  ///< at most: the first one runs all of them
  static float root(float value) { return std::sqrt(value); }
  static void add_team(float (&sum)[lanes_of_team], std::uint32_t lanes, std::uint32_t) {
    for (std::uint32_t apart = lanes / 2; apart > 0; apart /= 2)
      for (std::uint32_t n = 0; n < lanes; ++n)
        if ((n & apart) == 0) sum[n] = sum[n + apart] = sum[n] + sum[n + apart];
  }
  template <class Data, std::size_t count>
  static constexpr Elements<float, count> to_floats(const Elements<Data, count>& from) {
    Elements<float, count> out{};
    for (std::size_t i = 0; i < count; ++i) out.at[i] = static_cast<float>(from.at[i]);
    return out;
  }
  template <class Data, std::size_t count>
  static constexpr Elements<Data, count> from_floats(const Elements<float, count>& from) {
    Elements<Data, count> out{};
    for (std::size_t i = 0; i < count; ++i) out.at[i] = Data(from.at[i]);
    return out;
  }

 private:
  bool aligned(const void* at, std::size_t width, const char* what) const {
    if (reinterpret_cast<std::uintptr_t>(at) % width == 0) [[likely]]
      return true;
    fault_->say("misaligned: %s of %zu bytes %zu bytes behind a multiple of its width", what, width,
                reinterpret_cast<std::uintptr_t>(at) % width);
    return false;
  }

  LaunchFault* fault_;
};

inline std::uint64_t count_of(const Extent& e) {
  return std::uint64_t{e.x} * e.y * e.z;
}

/// Checks the limits of CUDA: grid.x <= 2^31 - 1, grid.y and grid.z <= 65535, at most 1024 threads
/// in a block with at most 64 in z, and no count 0. A launch outside them fails, and runs no lane.
inline bool within_limits(const Grid& grid, LaunchFault& fault) {
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

/// An order of 0 .. count - 1 that looks random, without memory: mixes the bits of an index in the
/// least power of two that is not below `count`, until the result is below it.
/// Range: 1 <= count <= 2^63.
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t seed) : count_(count) {
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

/// The index with number i; x runs first, as on a device.
constexpr Extent index_of(const Extent& counts, std::uint64_t i) {
  if (i < counts.x) return {static_cast<std::uint32_t>(i), 0, 0};  // divides nothing in most calls
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): within_limits() refuses a count of 0
  return {static_cast<std::uint32_t>(i % counts.x),
          static_cast<std::uint32_t>(i / counts.x % counts.y),
          static_cast<std::uint32_t>(i / counts.x / counts.y)};
}

/// Calls body(lane) once for each lane of a grid, until there is a fault. Each seed is another
/// order of the blocks, and each block has an order of its own.
template <class Body>
void run_grid(const Grid& grid, std::uint64_t seed, LaunchFault& fault, Body&& body) {
  if (!within_limits(grid, fault)) return;
  const std::uint64_t blocks = count_of(grid.blocks), threads = count_of(grid.threads);
  const Permutation block_at(blocks, seed);
  for (std::uint64_t b = 0; b < blocks && !fault.met(); ++b) {
    const std::uint64_t number = block_at(b);
    const Extent block = index_of(grid.blocks, number);
    const Permutation at(threads, seed + (number + 1) * 0x9e3779b97f4a7c15U);
    for (std::uint64_t i = 0; i < threads && !fault.met(); ++i)
      body(Lane{block, index_of(grid.threads, at(i)), grid.blocks, grid.threads});
  }
}

/// A body with all that is chosen: body(launch, lane, access).
template <class S, class Angles, class Index>
struct Body {
  template <class Access>
  constexpr void operator()(const Launch& launch, const Lane& lane, const Access& access) const {
    rotate_items<S, Angles, Index>(launch, lane, access);
  }
};

namespace detail {

template <class Angles, class S, class Use>
void with_index(const Launch& launch, Use& use) {
  launch.small_index ? use(Body<S, Angles, std::uint32_t>{})
                     : use(Body<S, Angles, std::uint64_t>{});
}

template <class Bodies, class Data, std::int32_t pairing, class Use>
void with_width(const Launch& launch, Use& use) {
  using Angles = typename Bodies::Angles;
  using OneHead = std::conditional_t<std::is_same_v<Angles, TableAngles>, Short<Data, pairing>,
                                     Wide<Data, pairing>>;
  if constexpr (Bodies::naive)
    with_index<Angles, Naive<Data, pairing>>(launch, use);
  else if (launch.heads)
    launch.wide ? with_index<Bodies, Short<Data, pairing>>(launch, use)
                : with_index<Bodies, Naive<Data, pairing>>(launch, use);
  else if (launch.axis_of_pair != nullptr)
    launch.wide ? with_index<typename Bodies::OnAxes, Wide<Data, pairing>>(launch, use)
                : with_index<typename Bodies::OnAxes, General<Data, pairing>>(launch, use);
  else if (!launch.wide)
    with_index<Angles, General<Data, pairing>>(launch, use);
  else
    launch.one_head ? with_index<Angles, OneHead>(launch, use)
                    : with_index<Angles, Wide<Data, pairing>>(launch, use);
}

template <class Bodies, class Data, class Use>
void with_pairing(const Launch& launch, Use& use) {
  launch.pairing == ROPE_HALF_SPLIT ? with_width<Bodies, Data, ROPE_HALF_SPLIT>(launch, use)
                                    : with_width<Bodies, Data, ROPE_INTERLEAVED>(launch, use);
}

}  // namespace detail

/// Calls use(body) once, with the body for this launch.
template <class Bodies, class Use>
void with_body(const Launch& launch, Use&& use) {
  if (launch.data_type == ROPE_F32)
    detail::with_pairing<Bodies, float>(launch, use);
  else if (launch.data_type == ROPE_F16)
    detail::with_pairing<Bodies, F16>(launch, use);
  else
    detail::with_pairing<Bodies, Bf16>(launch, use);
}

/// A device of the smallest size that goes through every loop of a body: a longer call has more
/// items than lanes, and a shorter one has fewer heads in an item. Its blocks are small, so that
/// few lanes have no item.
constexpr DeviceSize small_device{.threads_of_block = 32, .most_blocks = 16, .threads_at_once = 64};

using Options = PlanOptions (*)(const DeviceSize&);

/// The state is that of prepare_fractions, or NULL with a table.
template <class Bodies, Options options>
std::int32_t apply_on_host(const rope_problem* p, const rope_operands* o, void* state) {
  const TurnFraction* fractions =
      state == nullptr ? nullptr : static_cast<const TurnFractions*>(state)->data();
  const Launches launches = launches_of(*p, *o, options(small_device), fractions);
  LaunchFault fault;
  for (int i = 0; i < launches.count; ++i) {
    const Launch& launch = launches.launch[i];
    with_body<Bodies>(launch, [&](auto body) {
      run_grid(launch.grid, 20210420, fault,
               [&](const Lane& lane) { body(launch, lane, HostAccess(fault)); });
    });
  }
  return fault.met() ? ROPE_FAILED : ROPE_OK;
}

}  // namespace ropewalk::cuda
