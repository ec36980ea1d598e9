// The body of the CUDA kernels. nvcc wraps it in __global__ functions (cuda_kernels.cu), and the
// host launcher calls it for one lane after another (host_kernels.cpp).
//
// The last parameter of each function says how a lane reaches memory and converts 16-bit data. It
// is a class with these members, where Unit is Elements<Element, count> of at most 16 bytes:
//
//   Unit load<Unit>(const void* base, int64_t offset)           // what a launch may also write
//   Unit load_constant<Unit>(const void* base, int64_t offset)  // what no lane writes
//   void store(void* base, int64_t offset, const Unit&)
//   Elements<float, count> to_floats(const Elements<Data, count>&)
//   Elements<Data, count> from_floats<Data>(const Elements<float, count>&)
//
// `offset` is in bytes. An address must be a multiple of sizeof(Unit).
//
// Products and sums are written out, and both compilers are told to fuse none, so the device does
// the operations that the host does in `cuda_host` and `cuda_phase_host`.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/api/rope_kernel.h"
#include "kernels/common/integer_phase.h"
#include "kernels/cuda/launch.h"

namespace ropewalk::cuda {

/// What one access moves. Range: `count` is a power of two.
template <class Element, std::size_t count>
struct alignas(sizeof(Element) * count) Elements {
  Element at[count];
};

/// How a lane works on the window of a head. Its unit is one or two accesses of `width_` elements.
/// Both elements of each pair are in the same unit, so no lane reads what another one writes:
/// - half_split: two accesses, half a window apart; pair j is element j of each.
/// - interleaved: one access; pair j is elements 2 j and 2 j + 1. Two accesses if width_ is 1.
template <class Stored, std::int32_t pairing_, std::size_t width_, std::size_t heads_at_once_>
struct Shape {
  using Data = Stored;
  using Unit = Elements<Data, width_>;
  static constexpr bool half_split = pairing_ == ROPE_HALF_SPLIT;
  static constexpr std::size_t width = width_;
  static constexpr std::size_t accesses = half_split || width_ == 1 ? 2 : 1;
  static constexpr std::size_t pairs = accesses * width / 2;
  static constexpr std::size_t heads_at_once =
      heads_at_once_;  ///< loads of so many heads are in flight

  static constexpr std::size_t first(std::size_t pair) { return half_split ? pair : 2 * pair; }
  static constexpr std::size_t second(std::size_t pair) {
    return half_split ? pair + width : 2 * pair + 1;
  }
  /// The offset of an access of a unit from the begin of the window, in bytes.
  static constexpr std::int64_t offset(std::int64_t unit, std::size_t access,
                                       std::int64_t window_bytes) {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(Unit));
    const auto number = static_cast<std::int64_t>(access);
    return half_split ? unit * bytes + number * (window_bytes / 2)
                      : (unit * static_cast<std::int64_t>(accesses) + number) * bytes;
  }
};

/// The rotations of the pairs of one unit, rounded to f32; the direction is in sin.
template <std::size_t pairs>
struct Turns {
  float cos[pairs], sin[pairs];
};

/// The token of an item.
struct ItemToken {
  std::int64_t batch, index, position, table_row;
};

/// Reads `count` values that no lane writes, by the widest accesses that 16 bytes allow.
template <class Element, std::size_t count, class Access>
constexpr void load_constants(const void* base, std::int64_t offset, Element (&to)[count],
                              const Access& access) {
  constexpr std::size_t at_most = 16 / sizeof(Element);
  constexpr std::size_t step = count < at_most ? count : at_most;
  for (std::size_t i = 0; i < count; i += step) {
    const auto piece = access.template load_constant<Elements<Element, step>>(
        base, offset + static_cast<std::int64_t>(i * sizeof(Element)));
    for (std::size_t j = 0; j < step; ++j) to[i + j] = piece.at[j];
  }
}

/// Angles from the tables of cos and sin that the call gives, which begin `begin` bytes behind.
struct TableAngles {
  template <std::size_t pairs, class Access>
  static constexpr Turns<pairs> turns(const Launch& launch, const LaunchTensor& tensor,
                                      const ItemToken& token, std::int64_t unit,
                                      const Access& access, std::int64_t begin = 0) {
    Turns<pairs> out;
    const std::int64_t offset = begin + token.table_row * tensor.table_row +
                                unit * static_cast<std::int64_t>(pairs * sizeof(float));
    load_constants(tensor.cos, offset, out.cos, access);
    load_constants(tensor.sin, offset, out.sin, access);
    for (std::size_t j = 0; j < pairs; ++j) out.sin[j] = launch.sign * out.sin[j];
    return out;
  }
};

/// Angles of the kernel's own, by the 64-bit phase (common/integer_phase.h).
struct PhaseAngles {
  template <std::size_t pairs, class Access>
  static constexpr Turns<pairs> turns(const Launch& launch, const LaunchTensor&,
                                      const ItemToken& token, std::int64_t unit,
                                      const Access& access) {
    const auto at = [&](std::size_t) { return token.position; };
    return turns_at<pairs>(launch, unit, at, access);
  }
  /// Pair j of the unit is at position at(j).
  template <std::size_t pairs, class At, class Access>
  static constexpr Turns<pairs> turns_at(const Launch& launch, std::int64_t unit, At&& at,
                                         const Access& access) {
    Turns<pairs> out;
    TurnFraction fraction[pairs];
    load_constants(launch.fractions, unit * static_cast<std::int64_t>(pairs * sizeof(TurnFraction)),
                   fraction, access);
    for (std::size_t j = 0; j < pairs; ++j) {
      const CosSin turn = cos_sin(phase_of(fraction[j], at(j)));
      out.cos[j] = static_cast<float>(turn.cos);
      out.sin[j] = launch.sign * static_cast<float>(turn.sin);
    }
    return out;
  }
};

/// The integer of 64 or 32 bits at an offset in bytes.
template <class Access>
constexpr std::int64_t integer_at(const void* base, bool wide, std::int64_t offset,
                                  const Access& access) {
  return wide ? access.template load_constant<Elements<std::int64_t, 1>>(base, offset).at[0]
              : access.template load_constant<Elements<std::int32_t, 1>>(base, offset).at[0];
}
template <class Access>
constexpr std::int64_t position_at(const Launch& l, std::int64_t offset, const Access& access) {
  return integer_at(l.positions, l.wide_positions, offset, access);
}

/// The token of a row, on the first axis. Without positions its position is 0.
template <class Index, class Access>
constexpr ItemToken token_of(const Launch& launch, Index row, const Access& access) {
  const Parts<Index> at = split(launch.tokens, row);
  ItemToken token{static_cast<std::int64_t>(at.quotient), static_cast<std::int64_t>(at.remainder),
                  0, static_cast<std::int64_t>(row)};
  if (launch.row_by_token) return token;
  const std::int64_t offset =
      token.batch * launch.position_batch + token.index * launch.position_token;
  token.position = position_at(launch, offset, access);
  token.table_row = token.position;
  return token;
}

/// Calls use(axis, token, mine) for each axis that pairs of the unit have, with the token on this
/// axis. mine[j] says whether pair j has it.
template <std::size_t pairs, class Access, class Use>
constexpr void for_each_axis(const Launch& launch, ItemToken token, std::int64_t unit,
                             const Access& access, Use&& use) {
  std::uint8_t axis_of[pairs];
  load_constants(launch.axis_of_pair, unit * static_cast<std::int64_t>(pairs), axis_of, access);
  for (std::int64_t axis = 0; axis < launch.axes; ++axis) {
    bool mine[pairs], any = false;
    for (std::size_t j = 0; j < pairs; ++j) any |= mine[j] = axis_of[j] == axis;
    if (!any) continue;
    const std::int64_t offset = token.batch * launch.position_batch +
                                token.index * launch.position_token + axis * launch.position_axis;
    if (!launch.row_by_token)
      token.table_row = token.position = position_at(launch, offset, access);
    use(axis, token, mine);
  }
}

/// The same angles for positions with axes (rope_axes).
struct AxisTableAngles {
  template <std::size_t pairs, class Access>
  static constexpr Turns<pairs> turns(const Launch& launch, const LaunchTensor& tensor,
                                      const ItemToken& token, std::int64_t unit,
                                      const Access& access) {
    Turns<pairs> out{};
    const auto take = [&](std::int64_t axis, const ItemToken& at, const bool(&mine)[pairs]) {
      const auto row =
          TableAngles::turns<pairs>(launch, tensor, at, unit, access, axis * launch.table_axis);
      for (std::size_t j = 0; j < pairs; ++j) {
        out.cos[j] = mine[j] ? row.cos[j] : out.cos[j];
        out.sin[j] = mine[j] ? row.sin[j] : out.sin[j];
      }
    };
    for_each_axis<pairs>(launch, token, unit, access, take);
    return out;
  }
};
struct AxisPhaseAngles {
  template <std::size_t pairs, class Access>
  static constexpr Turns<pairs> turns(const Launch& launch, const LaunchTensor&,
                                      const ItemToken& token, std::int64_t unit,
                                      const Access& access) {
    std::int32_t position[pairs] = {};  // no position has more bits
    const auto take = [&](std::int64_t, const ItemToken& at, const bool(&mine)[pairs]) {
      for (std::size_t j = 0; j < pairs; ++j)
        if (mine[j]) position[j] = static_cast<std::int32_t>(at.position);
    };
    for_each_axis<pairs>(launch, token, unit, access, take);
    const auto at = [&](std::size_t j) { return position[j]; };
    return PhaseAngles::turns_at<pairs>(launch, unit, at, access);
  }
};

/// Turns the pairs of a unit: y1 = scale (x1 cos - x2 sin), y2 = scale (x2 cos + x1 sin).
template <class S>
constexpr void turn_floats(Elements<float, S::width> (&x)[S::accesses],
                           const Turns<S::pairs>& turns, float scale) {
  for (std::size_t j = 0; j < S::pairs; ++j) {
    float& first = x[S::first(j) / S::width].at[S::first(j) % S::width];
    float& second = x[S::second(j) / S::width].at[S::second(j) % S::width];
    const float x1 = first, x2 = second;
    first = scale * (x1 * turns.cos[j] - x2 * turns.sin[j]);
    second = scale * (x2 * turns.cos[j] + x1 * turns.sin[j]);
  }
}
template <class S, class Access>
constexpr void turn_unit(typename S::Unit (&unit)[S::accesses], const Turns<S::pairs>& turns,
                         float scale, const Access& access) {
  Elements<float, S::width> x[S::accesses];
  for (std::size_t a = 0; a < S::accesses; ++a) x[a] = access.to_floats(unit[a]);
  turn_floats<S>(x, turns, scale);
  for (std::size_t a = 0; a < S::accesses; ++a)
    unit[a] = access.template from_floats<typename S::Data>(x[a]);
}

/// Where a row of a tensor begins, in bytes, without its head.
struct RowOffsets {
  std::int64_t in, out;
};

/// One unit of the heads head, head + groups, ..., as many as a lane loads at once. They are words
/// of 32 bits: nvcc takes two registers for two elements of 16 bits that may not have been loaded.
template <class S>
struct HeadUnits {
  using Unit = typename S::Unit;
  using Loaded = std::conditional_t<sizeof(Unit) % 4 == 0,
                                    Elements<std::uint32_t, (sizeof(Unit) + 3) / 4>, Unit>;
  Loaded at[S::heads_at_once][S::accesses];
};

/// Loads the units of those heads that there are. `begin` is where their row begins.
template <class S, class Index, class Access>
constexpr void load_heads(HeadUnits<S>& x, const LaunchTensor& tensor, RowOffsets begin, Index head,
                          std::int64_t unit, const Access& access) {
  for (std::size_t k = 0; k < S::heads_at_once; ++k) {
    const Index h = head + static_cast<Index>(k) * static_cast<Index>(tensor.groups.divisor);
    if (h >= static_cast<Index>(tensor.heads)) continue;
    for (std::size_t a = 0; a < S::accesses; ++a)
      x.at[k][a] = access.template load<typename HeadUnits<S>::Loaded>(
          tensor.in, begin.in + static_cast<std::int64_t>(h) * tensor.in_head +
                         S::offset(unit, a, tensor.window_bytes));
  }
}

/// Turns what load_heads() loaded, and stores it.
template <class S, class Index, class Access>
constexpr void turn_heads(HeadUnits<S>& x, const LaunchTensor& tensor, RowOffsets begin, Index head,
                          std::int64_t unit, const Turns<S::pairs>& turns, float scale,
                          const Access& access) {
  for (std::size_t k = 0; k < S::heads_at_once; ++k) {
    const Index h = head + static_cast<Index>(k) * static_cast<Index>(tensor.groups.divisor);
    if (h >= static_cast<Index>(tensor.heads)) continue;
    typename S::Unit one[S::accesses];
    for (std::size_t a = 0; a < S::accesses; ++a)
      one[a] = std::bit_cast<typename S::Unit>(x.at[k][a]);
    turn_unit<S>(one, turns, scale, access);
    for (std::size_t a = 0; a < S::accesses; ++a)
      access.store(tensor.out,
                   begin.out + static_cast<std::int64_t>(h) * tensor.out_head +
                       S::offset(unit, a, tensor.window_bytes),
                   one[a]);
  }
}

/// Copies one access of the heads group, group + groups, ..., bit for bit. `begin` is where their
/// row begins; copied elements lie before and behind the window.
template <class S, class Index, class Access>
constexpr void copy_heads(const LaunchTensor& tensor, RowOffsets begin, Index group,
                          std::int64_t copied, const Access& access) {
  std::int64_t offset = copied * static_cast<std::int64_t>(sizeof(typename S::Unit));
  if (offset >= tensor.window_begin) offset += tensor.window_bytes;
  const auto groups = static_cast<Index>(tensor.groups.divisor);
  const auto heads = static_cast<Index>(tensor.heads);
  for (Index head = group; head < heads; head += groups) {
    const auto h = static_cast<std::int64_t>(head);
    access.store(
        tensor.out, begin.out + h * tensor.out_head + offset,
        access.template load<typename S::Unit>(tensor.in, begin.in + h * tensor.in_head + offset));
  }
}

/// The tensor of an item.
template <class Index>
constexpr std::uint32_t tensor_of(const Launch& launch, Index item) {
  std::uint32_t t = 0;
  while (t + 1 < launch.tensors && item >= static_cast<Index>(launch.tensor[t + 1].first_item)) ++t;
  return t;
}

/// Works on one item of the launch.
template <class S, class Angles, class Index, class Access>
constexpr void work_on_item(const Launch& launch, Index item, const Access& access) {
  const LaunchTensor& tensor = launch.tensor[tensor_of(launch, item)];
  const Parts<Index> unit =
      split(tensor.units, static_cast<Index>(item - static_cast<Index>(tensor.first_item)));
  const Parts<Index> row = split(tensor.groups, unit.quotient);
  const auto number = static_cast<std::int64_t>(unit.remainder);
  const auto rotated = static_cast<std::int64_t>(tensor.rotated_units);
  if (number < rotated) {
    const ItemToken token = token_of(launch, row.quotient, access);
    const RowOffsets begin{
        token.batch * tensor.in_batch + token.index * tensor.in_token + tensor.window_begin,
        token.batch * tensor.out_batch + token.index * tensor.out_token + tensor.window_begin};
    HeadUnits<S> x{};
    Index head = row.remainder;
    load_heads(x, tensor, begin, head, number, access);  // on its way while the angles are made
    const Turns<S::pairs> turns =
        Angles::template turns<S::pairs>(launch, tensor, token, number, access);
    while (true) {
      turn_heads(x, tensor, begin, head, number, turns, launch.scale, access);
      head += static_cast<Index>(tensor.groups.divisor) * static_cast<Index>(S::heads_at_once);
      if (head >= static_cast<Index>(tensor.heads)) break;
      load_heads(x, tensor, begin, head, number, access);
    }
  } else {
    const Parts<Index> token = split(launch.tokens, row.quotient);
    const auto batch = static_cast<std::int64_t>(token.quotient);
    const auto index = static_cast<std::int64_t>(token.remainder);
    const RowOffsets begin{batch * tensor.in_batch + index * tensor.in_token,
                           batch * tensor.out_batch + index * tensor.out_token};
    copy_heads<S>(tensor, begin, row.remainder, number - rotated, access);
  }
}

/// The body: the items of one lane, which are as far apart as the grid has lanes.
/// Index is std::uint32_t if launch.small_index, else std::uint64_t. Offsets always have 64 bits.
template <class S, class Angles, class Index, class Access>
constexpr void rotate_items(const Launch& launch, const Lane& lane, const Access& access) {
  const auto items = static_cast<Index>(launch.items);
  const Index lanes = static_cast<Index>(lane.blocks.x) * lane.threads.x;
  for (Index item = static_cast<Index>(lane.block.x) * lane.threads.x + lane.thread.x; item < items;
       item += lanes)
    work_on_item<S, Angles>(launch, item, access);
}

/// The bodies of a kernel. Each has one for all launches: `cuda`, `cuda_phase` and `cuda_naive`.
struct CudaBodies {
  using Angles = TableAngles;
  using OnAxes = AxisTableAngles;  // of a launch with axes
  static constexpr bool naive = false;
};
struct CudaPhaseBodies {
  using Angles = PhaseAngles;
  using OnAxes = AxisPhaseAngles;
  static constexpr bool naive = false;
};
struct CudaNaiveBodies {
  using Angles = TableAngles;
  static constexpr bool naive = true;
};

/// The shape of a wide path: 16 bytes an access.
template <class Data, std::int32_t pairing>
using Wide = Shape<Data, pairing, 16 / sizeof(Data), heads_at_once(pairing, true)>;
/// The same for items of one head, of a table alone. A short call ends before the code of more
/// heads has come.
template <class Data, std::int32_t pairing>
using Short = Shape<Data, pairing, 16 / sizeof(Data), 1>;
/// The shape of the general path: an element an access, for any size, stride and alignment.
template <class Data, std::int32_t pairing>
using General = Shape<Data, pairing, 1, heads_at_once(pairing, false)>;
/// The shape of cuda_naive: one pair of one head.
template <class Data, std::int32_t pairing>
using Naive = Shape<Data, pairing, 1, 1>;

}  // namespace ropewalk::cuda
