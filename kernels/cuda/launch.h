// What a launch hands to a body, all by value: the tensors with their strides in bytes, how the
// work is cut into items, and which element each lane of the grid works on.
//
// This header needs no CUDA toolkit. `nvcc --expt-relaxed-constexpr` takes a constexpr function for
// a function of the device too, so the device and the host run the same source.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/api/rope_kernel.h"
#include "kernels/common/integer_phase.h"

namespace ropewalk::cuda {

/// Three counts or three indices, as in CUDA's dim3 and uint3.
struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// How many blocks a launch has, and how many threads each block has.
struct Grid {
  Extent blocks, threads;
};

/// One thread of a launch. `block` and `thread` are indices, `blocks` and `threads` are counts.
struct Lane {
  Extent block{0, 0, 0}, thread{0, 0, 0};
  Extent blocks, threads;
};

/// Division by a number that is known before the launch: a multiplication and a shift, as a device
/// has no instruction for a quotient. Index is std::uint32_t or std::uint64_t.
/// Range: with 32 bits 1 <= divisor < 2^31 and 0 <= n < 2^31; with 64 bits 2^63 in place of 2^31.
/// Error: none. With N = 31 or 63 bits and 2^(l-1) < divisor <= 2^l, the multiplier is
/// ceil(2^(N+l) / divisor). It is too large by less than 2^l / divisor, so n times it is too large
/// by less than one unit of 2^(N+l) / divisor, which changes no quotient.
struct Divisor {
  std::uint64_t divisor = 1, multiplier = 0;
  std::uint32_t shift = 0;  ///< l

  __extension__ using Product = unsigned __int128;

  template <class Index>
  static constexpr Divisor of(std::uint64_t divisor) {
    constexpr int bits = sizeof(Index) * 8 - 1;
    const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    const Product power = Product{1} << (static_cast<std::uint32_t>(bits) + shift);
    if constexpr (bits == 31) {  // a division of 64 bits is enough, and takes less time
      const auto small = static_cast<std::uint64_t>(power);
      return {divisor, (small + divisor - 1) / divisor, shift};
    } else {
      return {divisor, static_cast<std::uint64_t>((power + divisor - 1) / divisor), shift};
    }
  }

  template <class Index>
  constexpr Index quotient(Index n) const {
    if constexpr (sizeof(Index) == 4)
      return static_cast<Index>((std::uint64_t{n} * static_cast<std::uint32_t>(multiplier)) >>
                                (31 + shift));
    else
      return static_cast<Index>(static_cast<std::uint64_t>((Product{n} * multiplier) >> 63) >>
                                shift);
  }
};

/// A number split into n / divisor and n % divisor.
template <class Index>
struct Parts {
  Index quotient, remainder;
};
template <class Index>
constexpr Parts<Index> split(const Divisor& by, Index n) {
  const Index quotient = by.quotient(n);
  return {quotient, static_cast<Index>(n - quotient * static_cast<Index>(by.divisor))};
}

/// A lane loads a unit of so many heads before it stores the first: 128 bytes of a wide path.
constexpr std::size_t heads_at_once(std::int32_t pairing, bool wide) {
  if (!wide) return 2;
  return pairing == ROPE_HALF_SPLIT ? 4 : 8;
}

/// One tensor of a launch. All strides are in bytes, and 0 for an axis of size 1.
struct LaunchTensor {
  const void* in = nullptr;
  void* out = nullptr;
  const float *cos = nullptr, *sin = nullptr;
  std::int64_t in_batch = 0, in_token = 0, in_head = 0;
  std::int64_t out_batch = 0, out_token = 0, out_head = 0;
  std::int64_t table_row = 0;     ///< bytes from a row of cos or sin to the next
  std::int64_t window_begin = 0;  ///< bytes from the begin of a head to its rotated window
  std::int64_t window_bytes = 0;
  std::uint64_t first_item = 0;  ///< the items of this tensor begin here
  std::uint64_t heads = 1;
  std::uint64_t rotated_units = 0;  ///< a head's units of the window; the others are copied
  Divisor units;                    ///< units of a head
  Divisor groups;                   ///< an item has the heads group, group + groups, ...
};

/// What rope_norm and rope_append ask of a tensor. If it is appended, its `out` is its cache.
struct HeadTensor {
  const void* weight = nullptr;     ///< NULL: 1
  std::int64_t page = 0, slot = 0;  ///< strides in bytes
  std::uint64_t teams = 0;          ///< each has 2^lane_bits lanes, at most 32
  std::uint32_t lane_bits = 0;
  float head_dim = 1;
  bool norm = false, append = false;
  bool whole_units = false;  ///< its heads can be cut into units of 16 bytes, aligned or not
};

/// A launch. An item is one unit of every head of a group, of one token:
/// item = first_item + (row * groups + group) * units + unit, where row = batch * tokens + token.
struct Launch {
  LaunchTensor tensor[ROPE_MAX_TENSORS];
  std::uint32_t tensors = 0;
  std::int32_t data_type = ROPE_F32, pairing = ROPE_HALF_SPLIT;
  bool wide = false;           ///< 16 bytes an access; else an element an access
  bool one_head = false;       ///< of a wide one: each item has one head
  bool small_index = true;     ///< items are counted in 32 bits
  bool wide_positions = true;  ///< int64, else int32
  bool row_by_token = false;   ///< the table row is batch * tokens + token; positions may be NULL
  std::uint64_t items = 0;
  Divisor tokens;
  const void* positions = nullptr;
  std::int64_t position_batch = 0, position_token = 0;  ///< strides in bytes
  const TurnFraction* fractions = nullptr;              ///< one for each pair; NULL with a table
  float scale = 1, sign = 1;                            ///< `sign` multiplies sin
  Grid grid;
  const std::uint8_t* axis_of_pair = nullptr;  ///< of rope_axes; NULL: the positions have no axes
  std::int64_t axes = 0, position_axis = 0, table_axis = 0;  ///< their number; strides in bytes
  // Of rope_norm and rope_append. If `heads`, an item is a lane of a team, and `units` are those of
  // a head (heads.h). The items of each tensor begin at a multiple of 32.
  bool heads = false;
  bool wide_slots = true;  ///< int64, else int32
  std::int32_t weight_type = ROPE_F32;
  float epsilon = 0, plus_one = 0;  ///< plus_one is added to each weight
  const void* slots = nullptr;
  Divisor page_size;  ///< with 64 bits
  HeadTensor head[ROPE_MAX_TENSORS];
};

}  // namespace ropewalk::cuda
