// Turns a call into launches, on the host: one launch for the tensors that 16-byte accesses can
// reach, and one for the others. Most calls need one of the two.
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/api/kernel.h"
#include "kernels/cuda/launch.h"

namespace ropewalk::cuda {

/// What the cut of the work depends on beside the call.
struct DeviceSize {
  std::uint32_t threads_of_block = 128;
  /// The grid has at most so many blocks. Range: 1 to 2^31 - 1.
  std::uint64_t most_blocks = 0x7fffffff;
  /// The device holds so many threads at once; group_heads() says what follows from it.
  std::uint64_t threads_at_once = 0;
};

/// Blocks of 128 threads that a multiprocessor holds at once, as no body with 32-bit indices has
/// more than 96 registers (a test reads the registers).
inline constexpr std::uint32_t blocks_at_once = 5;

inline DeviceSize device_of(std::uint64_t multiprocessors) {
  DeviceSize device;
  const std::uint64_t blocks = multiprocessors * blocks_at_once;
  device.threads_at_once = blocks * device.threads_of_block;
  return device;
}

/// How a kernel cuts its work.
struct PlanOptions {
  /// Whether a tensor is worked on by 16-byte accesses. It is asked for each tensor of each call.
  bool (*fits_wide)(const rope_problem&, const rope_operands&, std::uint32_t tensor) = nullptr;
  /// An item of a long call has so many heads, which share their cos and sin, if a body does not
  /// load more at once. With 1 it always has one. Range: a power of two.
  std::uint64_t heads_of_item = 1;
  DeviceSize device;
};

/// The launches of a call, in any order: no two of them write one element.
struct Launches {
  Launch launch[2];
  int count = 0;
};

namespace detail {

inline std::int64_t bytes_of(const rope_problem& p) {
  return data_type(Dtype{p.tensor[0].in_dtype}).bytes;
}

/// The elements of a head that a launch copies, or normalizes alone.
inline std::int64_t copied_elements(const rope_problem& p, std::uint32_t i) {
  const rope_tensor& s = p.tensor[i];
  if (s.in_place != 0 && !marks(norm_of(p), i)) return 0;
  return s.rotate != 0 ? s.head_dim - p.rotary_dim : s.head_dim;
}

/// The elements of one access, and the accesses of one unit.
struct UnitSize {
  std::int64_t width, accesses;
};
inline UnitSize unit_size(const rope_problem& p, bool wide) {
  const std::int64_t width = wide ? 16 / bytes_of(p) : 1;
  return {width, p.pairing == ROPE_HALF_SPLIT || !wide ? 2 : 1};
}

/// Fills in the tensor's place in memory.
inline LaunchTensor placed(const rope_problem& p, const rope_operands& o, std::uint32_t i) {
  const rope_tensor& s = p.tensor[i];
  const std::int64_t bytes = bytes_of(p);
  const auto stride = [&](std::int64_t size, std::int64_t elements) {
    return size > 1 ? elements * bytes : 0;  // the stride of an axis of size 1 is never used
  };
  LaunchTensor t;
  t.in = o.tensor[i].in;
  t.out = o.tensor[i].out;
  t.in_batch = stride(p.batch, s.in_batch_stride);
  t.in_token = stride(p.tokens, s.in_token_stride);
  t.in_head = stride(s.heads, s.in_head_stride);
  t.out_batch = stride(p.batch, s.out_batch_stride);
  t.out_token = stride(p.tokens, s.out_token_stride);
  t.out_head = stride(s.heads, s.out_head_stride);
  t.heads = static_cast<std::uint64_t>(s.heads);
  if (const rope_append* append = append_of(p); marks(append, i)) {
    t.out = append_of(o)->cache[i];
    t.out_batch = t.out_token = 0;
    t.out_head = stride(s.heads, append->head_stride[i]);
  }
  if (s.rotate == 0) return t;
  t.window_begin = s.rotary_offset * bytes;
  t.window_bytes = p.rotary_dim * bytes;
  if (p.angle_source != ROPE_ANGLES_TABLE) return t;
  t.cos = static_cast<const float*>(o.tensor[i].cos);
  t.sin = static_cast<const float*>(o.tensor[i].sin);
  const auto bytes_of_entry = static_cast<std::int64_t>(sizeof(float));
  t.table_row = p.table_rows > 1 ? p.table_row_stride * bytes_of_entry : 0;
  return t;
}

/// The number of items of a tensor, and how its heads are grouped.
struct TensorItems {
  std::uint64_t rotated_units, units, groups, items;
};
/// With one head in an item.
inline TensorItems items_of(const rope_problem& p, std::uint32_t i, bool wide) {
  const rope_tensor& s = p.tensor[i];
  const UnitSize size = unit_size(p, wide);
  TensorItems out{};
  if (s.rotate != 0)
    out.rotated_units = static_cast<std::uint64_t>(p.rotary_dim / (size.width * size.accesses));
  out.units = out.rotated_units + static_cast<std::uint64_t>(copied_elements(p, i) / size.width);
  out.groups = static_cast<std::uint64_t>(s.heads);
  const auto rows = static_cast<std::uint64_t>(p.batch) * static_cast<std::uint64_t>(p.tokens);
  out.items = rows * out.units * out.groups;
  return out;
}

/// Bytes within a head, of which accesses of 16 bytes need multiples.
inline std::int64_t sizes_in_head(const rope_problem& p, std::uint32_t i) {
  const rope_tensor& s = p.tensor[i];
  const std::int64_t half = p.rotary_dim / (p.pairing == ROPE_HALF_SPLIT ? 2 : 1);
  const std::int64_t window = s.rotate != 0 ? s.rotary_offset | half : 0;
  return (window | (copied_elements(p, i) != 0 ? s.head_dim : 0)) * bytes_of(p);
}

/// What rope_norm and rope_append ask of a tensor, without its teams.
inline HeadTensor placed_head(const rope_problem& p, const rope_operands& o, std::uint32_t i) {
  HeadTensor h;
  h.norm = marks(norm_of(p), i);
  h.append = marks(append_of(p), i);
  h.head_dim = static_cast<float>(p.tensor[i].head_dim);
  h.whole_units = sizes_in_head(p, i) % 16 == 0;
  if (h.norm && norm_of(o) != nullptr) h.weight = norm_of(o)->weight[i];
  if (!h.append) return h;
  const rope_append& a = *append_of(p);
  h.page = a.pages > 1 ? a.page_stride[i] * bytes_of(p) : 0;
  h.slot = a.page_size > 1 ? a.slot_stride[i] * bytes_of(p) : 0;
  return h;
}

/// Fills in what the tensors of a launch share of rope_norm and rope_append.
inline void place_heads(Launch& launch, const rope_problem& p, const rope_operands& o) {
  if (const rope_norm* norm = norm_of(p); norm != nullptr) {
    launch.weight_type = norm->weight_dtype;
    launch.epsilon = static_cast<float>(norm->epsilon);
    launch.plus_one = norm->weight_plus_one != 0 ? 1.0F : 0.0F;
  }
  if (const rope_append* append = append_of(p); append != nullptr) {
    launch.slots = append_of(o)->slot;
    launch.wide_slots = append->slot_dtype == ROPE_I64;
    launch.page_size = Divisor::of<std::uint64_t>(static_cast<std::uint64_t>(append->page_size));
  }
}

/// Groups the heads of the tensors of a launch. An item has the fewest heads, a power of two, with
/// which the device holds all items at once. It has at most those that a body loads at once, so
/// that as much is in flight, and up to heads_of_item where these still fill the device.
inline void group_heads(Launch& launch, TensorItems* items, std::uint64_t at_once,
                        const PlanOptions& options) {
  if (options.heads_of_item == 1) return;
  const std::uint64_t threads = options.device.threads_at_once;
  std::uint64_t fewest = 1;
  while (fewest < at_once && launch.items > threads * fewest) fewest *= 2;
  launch.items = 0;
  for (std::uint32_t i = 0; i < launch.tensors; ++i) {
    TensorItems& t = items[i];
    const std::uint64_t heads = t.groups, units = t.items / heads;
    std::uint64_t together = fewest;
    while (together < options.heads_of_item && units * (heads / (2 * together)) >= threads)
      together *= 2;
    t.groups = std::max<std::uint64_t>(heads / together, 1);
    t.items = units * t.groups;
    launch.items += t.items;
  }
}

/// Gives the tensors of a launch their items, and the launch its grid.
template <class Index>
void cut_into_items(Launch& launch, const TensorItems* items, const rope_problem& p,
                    const PlanOptions& options) {
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < launch.tensors; ++i) {
    LaunchTensor& t = launch.tensor[i];
    t.first_item = first;
    t.rotated_units = items[i].rotated_units;
    t.units = Divisor::of<Index>(items[i].units);
    t.groups = Divisor::of<Index>(items[i].groups);
    launch.head[i].teams = items[i].items >> launch.head[i].lane_bits;
    first += launch.heads ? (items[i].items + 31) / 32 * 32 : items[i].items;
  }
  launch.items = first;
  launch.tokens = Divisor::of<Index>(static_cast<std::uint64_t>(p.tokens));
  launch.small_index = sizeof(Index) == 4;
  const DeviceSize& device = options.device;
  const std::uint64_t blocks =
      (launch.items + device.threads_of_block - 1) / device.threads_of_block;
  launch.grid.threads.x = device.threads_of_block;
  launch.grid.blocks.x = static_cast<std::uint32_t>(std::min(blocks, options.device.most_blocks));
}

/// Whether all indices of a launch are below 2^31, also those that a loop reaches behind its end.
inline bool fits_small_index(const Launch& launch, std::uint64_t tokens) {
  bool fits = launch.items < (std::uint64_t{1} << 31) && tokens < (std::uint64_t{1} << 31);
  for (std::uint32_t i = 0; i < launch.tensors; ++i)
    fits = fits && launch.tensor[i].heads < (std::uint64_t{1} << 26);
  return fits;
}

}  // namespace detail

/// Whether every access to a tensor, of this call and to its tables, may be 16 bytes wide: by the
/// pointers, the strides, the window and what is copied.
inline bool fits_wide(const rope_problem& p, const rope_operands& o, std::uint32_t i) {
  const LaunchTensor t = detail::placed(p, o, i);
  const HeadTensor h = detail::placed_head(p, o, i);
  const std::int64_t bytes = detail::bytes_of(p);
  const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  const std::int64_t together = t.in_batch | t.in_token | t.in_head | t.out_batch | t.out_token |
                                t.out_head | h.page | h.slot | detail::sizes_in_head(p, i);
  const std::uintptr_t pointers = address(t.in) | address(t.out) | address(h.weight);
  if (((static_cast<std::uintptr_t>(together) | pointers) & 15U) != 0) return false;
  const rope_axes* const axes = axes_of(p);
  if (axes != nullptr && address(axes->axis_of_pair) % 8 != 0) return false;  // up to 8 in a load
  if (t.cos == nullptr) return true;
  const bool two_entries = p.pairing == ROPE_INTERLEAVED && bytes == 4;  // 8 bytes of the table
  const std::int64_t table_axis = axes == nullptr ? 0 : axes->table_axis_stride * 4;
  const std::uintptr_t table =
      static_cast<std::uintptr_t>(t.table_row | table_axis) | address(t.cos) | address(t.sin);
  return (table & (two_entries ? 7U : 15U)) == 0;
}

/// The launches of a call. `fractions` has rotary_dim / 2 values, a multiple of 16 bytes from 0, or
/// is NULL with a table. The map of axes is that of the problem. Allocates nothing.
inline Launches launches_of(const rope_problem& p, const rope_operands& o,
                            const PlanOptions& options, const TurnFraction* fractions) {
  Launches out;
  for (const bool wide : {true, false}) {
    Launch& launch = out.launch[out.count];
    detail::TensorItems items[ROPE_MAX_TENSORS];
    launch = Launch{};
    launch.heads = norm_of(p) != nullptr || append_of(p) != nullptr;
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
      if ((options.fits_wide != nullptr && options.fits_wide(p, o, i)) != wide) continue;
      HeadTensor& head = launch.head[launch.tensors] = detail::placed_head(p, o, i);
      const bool units = wide || (launch.heads && head.whole_units);
      detail::TensorItems of_tensor = detail::items_of(p, i, units);
      if (of_tensor.items == 0) continue;
      if (launch.heads) {  // the lanes of teams
        while (head.lane_bits < 5 && of_tensor.units > 1U << head.lane_bits) ++head.lane_bits;
        of_tensor.items = (of_tensor.items / of_tensor.units) << head.lane_bits;
      }
      launch.items += of_tensor.items;
      items[launch.tensors] = of_tensor;
      launch.tensor[launch.tensors++] = detail::placed(p, o, i);
    }
    if (launch.items == 0) continue;
    detail::group_heads(launch, items, heads_at_once(p.pairing, wide), options);
    launch.data_type = p.tensor[0].in_dtype;
    launch.pairing = p.pairing;
    launch.wide = wide;
    launch.one_head = wide;
    for (std::uint32_t i = 0; i < launch.tensors; ++i)
      launch.one_head = launch.one_head && items[i].groups == launch.tensor[i].heads;
    launch.wide_positions = p.position_dtype == ROPE_I64;
    launch.row_by_token =
        p.angle_source == ROPE_ANGLES_TABLE && p.table_rows_by == ROPE_ROW_BY_TOKEN;
    launch.positions = o.positions;
    const std::int64_t bytes = launch.wide_positions ? 8 : 4;
    launch.position_batch = p.batch > 1 ? p.position_batch_stride * bytes : 0;
    launch.position_token = p.tokens > 1 ? p.position_token_stride * bytes : 0;
    if (const rope_axes* axes = axes_of(p); axes != nullptr) {
      launch.axis_of_pair = axes->axis_of_pair;
      launch.axes = axes->axes;
      launch.position_axis = axes->position_axis_stride * bytes;
      launch.table_axis = axes->table_axis_stride * static_cast<std::int64_t>(sizeof(float));
    }
    detail::place_heads(launch, p, o);
    launch.fractions = fractions;
    launch.scale = static_cast<float>(scale_of(p));
    launch.sign = sign_of(p);
    if (detail::fits_small_index(launch, static_cast<std::uint64_t>(p.tokens)))
      detail::cut_into_items<std::uint32_t>(launch, items, p, options);
    else
      detail::cut_into_items<std::uint64_t>(launch, items, p, options);
    ++out.count;
  }
  return out;
}

/// The flags that all kernels of this folder promise.
inline constexpr std::uint32_t promises =
    ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE | ROPE_BITWISE_INVARIANT;

/// The extensions of `cuda` and `cuda_phase`, in all combinations.
inline constexpr std::uint32_t extensions =
    extension_bit(ROPE_EXT_AXES) | extension_bit(ROPE_EXT_NORM) | extension_bit(ROPE_EXT_APPEND);

/// Accepts f32, f16 and bf16 data with angles of one kind.
template <std::int32_t angle_source>
std::int32_t supports(const rope_problem* p, const char** reason) {
  const std::int32_t dtype = p->tensor[0].in_dtype;
  if (dtype == ROPE_F64) return refuse(reason, "only f32, f16 and bf16 data");
  return supports_data(*p, angle_source, dtype, reason);
}

/// `cuda` and `cuda_phase` keep the cos and sin of a token over several heads. Own angles take more
/// time than a table, so they are kept over more.
inline PlanOptions table_options(const DeviceSize& device) {
  return {fits_wide, 4, device};
}
inline PlanOptions phase_options(const DeviceSize& device) {
  return {fits_wide, 8, device};
}
/// `cuda_naive` has one pair of one head in an item, a thread for each item, and never 16 bytes in
/// an access.
inline PlanOptions naive_options(const DeviceSize& device) {
  return {nullptr, 1, {.threads_of_block = device.threads_of_block}};
}

}  // namespace ropewalk::cuda
