// The body for rope_norm and rope_append. A team of lanes has a head: it reads the head from memory
// once, sums its squares, normalizes and rotates it, and stores it to `out` or to its slot. No lane
// reads what another one writes. Lane n of a team has the units n, n + lanes, ... of the head. A
// general launch has the units of a wide one where the sizes allow it, in parts of one pair or one
// element. So the order of the sum follows from the problem alone.
//
// An access (bodies.h) has more members here. On a device it stands for one lane, and on the host
// for all of a team:
//
//   lanes_of_team                      // it stands for so many lanes, at most
//   float root(float)                  // the square root, rounded correctly
//   void add_team(sum, lanes, number)  // sum[] of each lane becomes that of all: lane n adds that
//                                      // of lane n ^ lanes / 2, then of lane n ^ lanes / 4, ...
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/api/half.h"
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/launch.h"

namespace ropewalk::cuda {

/// One step of a lane: the rotated unit of the shape with this number, or an access of the others.
struct HeadPart {
  std::int64_t number;
  bool rotated, first;  ///< the first of the lane
};

/// What a lane keeps: its first part of a head, and the turns of a part.
template <class S>
struct HeadLane {
  typename HeadUnits<S>::Loaded x[S::accesses];
  Turns<S::pairs> turns;
  std::int64_t turns_of = -1;  ///< its number; -1: there are none
};

/// The heads of one tensor and token.
template <class S, class Bodies, class Access>
struct HeadRow {
  using Loaded = typename HeadUnits<S>::Loaded;
  using Floats = Elements<float, S::width>;
  static constexpr std::int64_t bytes = sizeof(typename S::Data);

  const Launch& launch;
  const LaunchTensor& tensor;
  const HeadTensor& more;
  const Access& access;
  ItemToken token;
  RowOffsets begin;

  static constexpr bool has(const HeadPart& at, std::size_t a) { return a == 0 || at.rotated; }
  /// The offset of an access in its head, in bytes.
  constexpr std::int64_t offset(const HeadPart& at, std::size_t a) const {
    if (at.rotated) return tensor.window_begin + S::offset(at.number, a, tensor.window_bytes);
    const std::int64_t other = at.number * static_cast<std::int64_t>(sizeof(typename S::Unit));
    return other < tensor.window_begin ? other : other + tensor.window_bytes;
  }
  /// Sees to it that a lane has the turns of a part.
  constexpr void turn(HeadLane<S>& lane, const HeadPart& at) const {
    if (!at.rotated || lane.turns_of == at.number) return;
    constexpr auto pairs = S::pairs;
    lane.turns_of = at.number;
    lane.turns =
        launch.axis_of_pair == nullptr
            ? Bodies::Angles::template turns<pairs>(launch, tensor, token, at.number, access)
            : Bodies::OnAxes::template turns<pairs>(launch, tensor, token, at.number, access);
  }
  /// Loads the parts of a lane and calls use(part, x, x in f32) for each. Those that are `summed`
  /// come first: then the first part is kept, and not loaded again.
  template <bool summed, class Use>
  constexpr void for_each_part(HeadLane<S>& lane, std::uint32_t number_in_team, std::int64_t head,
                               Use&& use) const {
    const auto rotated = static_cast<std::int64_t>(tensor.rotated_units);
    const std::int64_t units = static_cast<std::int64_t>(tensor.units.divisor);
    for (std::int64_t u = number_in_team; u < units; u += std::int64_t{1} << more.lane_bits) {
      std::int64_t parts = 1;
      if (S::width == 1 && more.whole_units)
        parts = 16 / bytes / (u < rotated && !S::half_split ? 2 : 1);
      for (std::int64_t i = 0; i < parts; ++i) {
        const HeadPart at{(u < rotated ? u : u - rotated) * parts + i, u < rotated,
                          u == number_in_team && i == 0};
        Loaded x[S::accesses]{};
        Floats y[S::accesses]{};
        for (std::size_t a = 0; a < S::accesses; ++a)
          if (has(at, a))
            x[a] = !summed && more.norm && at.first
                       ? lane.x[a]
                       : access.template load<Loaded>(
                             tensor.in, begin.in + head * tensor.in_head + offset(at, a));
        if (at.first || !summed) turn(lane, at);  // while x is on its way
        for (std::size_t a = 0; a < S::accesses; ++a) {
          if (summed && at.first) lane.x[a] = x[a];
          if (has(at, a)) y[a] = access.to_floats(std::bit_cast<typename S::Unit>(x[a]));
        }
        use(at, x, y);
      }
    }
  }

  /// The squares of a lane, added up pair after pair.
  constexpr float sum_of(HeadLane<S>& lane, std::uint32_t number, std::int64_t head) const {
    float sum = 0;
    for_each_part<true>(lane, number, head, [&](const HeadPart& at, auto&, auto& y) {
      const auto add = [&](std::size_t i) {
        const float value = y[i / S::width].at[i % S::width];
        sum += value * value;
      };
      for (std::size_t j = 0; j < S::pairs && at.rotated; ++j) add(S::first(j)), add(S::second(j));
      for (std::size_t i = 0; i < S::width && !at.rotated; ++i) add(i);
    });
    return sum;
  }

  template <class Stored>
  constexpr Floats weights(std::int64_t element) const {
    Elements<Stored, S::width> w;
    load_constants(more.weight, element * static_cast<std::int64_t>(sizeof(Stored)), w.at, access);
    return access.to_floats(w);
  }
  constexpr void normalize(Floats& y, std::int64_t element, float factor) const {
    for (float& value : y.at) value *= factor;
    if (more.weight == nullptr) return;
    const Floats w = launch.weight_type == ROPE_F32   ? weights<float>(element)
                     : launch.weight_type == ROPE_F16 ? weights<F16>(element)
                                                      : weights<Bf16>(element);
    for (std::size_t j = 0; j < S::width; ++j) y.at[j] *= launch.plus_one + w.at[j];
  }
  /// Normalizes, rotates and stores the parts of a lane. `sum` is that of the head.
  constexpr void store(HeadLane<S>& lane, std::uint32_t number, std::int64_t head,
                       float sum) const {
    const float factor = more.norm ? 1 / access.root(sum / more.head_dim + launch.epsilon) : 1;
    for_each_part<false>(lane, number, head, [&](const HeadPart& at, auto& x, auto& y) {
      for (std::size_t a = 0; a < S::accesses; ++a)
        if (more.norm && has(at, a)) normalize(y[a], offset(at, a) / bytes, factor);
      if (at.rotated) turn_floats<S>(y, lane.turns, launch.scale);
      for (std::size_t a = 0; a < S::accesses; ++a) {
        if (!has(at, a)) continue;
        if (more.norm || at.rotated)
          x[a] = std::bit_cast<Loaded>(access.template from_floats<typename S::Data>(y[a]));
        access.store(tensor.out, begin.out + head * tensor.out_head + offset(at, a), x[a]);
      }
    });
  }
};

/// Works on one lane. Its team has the heads group, group + groups, ... of a token.
template <class S, class Bodies, class Index, class Access>
requires(!Bodies::naive)  // a kernel's bodies in place of angles
    constexpr void work_on_item(const Launch& launch, Index item, const Access& access) {
  const std::uint32_t t = tensor_of(launch, item);
  const LaunchTensor& tensor = launch.tensor[t];
  const HeadTensor& more = launch.head[t];
  const Index lane = item - static_cast<Index>(tensor.first_item);
  const std::uint32_t lanes = std::uint32_t{1} << more.lane_bits;
  const std::uint32_t first = static_cast<std::uint32_t>(lane) & (lanes - 1);
  const Index team = lane >> more.lane_bits;
  if (team >= static_cast<Index>(more.teams) || (Access::lanes_of_team > 1 && first != 0)) return;

  const Parts<Index> at = split(tensor.groups, team);
  const ItemToken token = token_of(launch, at.quotient, access);
  RowOffsets begin{token.batch * tensor.in_batch + token.index * tensor.in_token,
                   token.batch * tensor.out_batch + token.index * tensor.out_token};
  if (more.append) {
    const std::int64_t offset =
        static_cast<std::int64_t>(at.quotient) * (launch.wide_slots ? 8 : 4);
    const std::int64_t slot = integer_at(launch.slots, launch.wide_slots, offset, access);
    if (slot < 0) return;
    const Parts<std::uint64_t> in = split(launch.page_size, static_cast<std::uint64_t>(slot));
    begin.out = static_cast<std::int64_t>(in.quotient) * more.page +
                static_cast<std::int64_t>(in.remainder) * more.slot;
  }
  const HeadRow<S, Bodies, Access> row{launch, tensor, more, access, token, begin};
  const std::uint32_t own = lanes < Access::lanes_of_team ? lanes : Access::lanes_of_team;
  HeadLane<S> kept[Access::lanes_of_team];
  for (auto head = static_cast<std::int64_t>(at.remainder);
       head < static_cast<std::int64_t>(tensor.heads);
       head += static_cast<std::int64_t>(tensor.groups.divisor)) {
    float sum[Access::lanes_of_team]{};
    for (std::uint32_t n = 0; n < own && more.norm; ++n)
      sum[n] = row.sum_of(kept[n], first + n, head);
    if (more.norm) access.add_team(sum, lanes, first);
    for (std::uint32_t n = 0; n < own; ++n) row.store(kept[n], first + n, head, sum[n]);
  }
}

}  // namespace ropewalk::cuda
