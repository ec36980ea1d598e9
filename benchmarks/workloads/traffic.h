// Traffic: the bytes that a kernel must move in one call, and the memory that a call and a workload
// touch.
//
// In place, elements outside the rotated window stay as they are, so only the window is read and
// written. Out of place, whole rows are read and written. A table kernel reads the cos and sin row
// of each token once, not once a head or tensor. A computing kernel reads no table. There is one
// position a token and axis, of the workload's type. Gaps of a layout are not moved. A norm reads
// its weights once. An append reads a slot a token, and writes rows to the cache in place of an
// output; V is read and written as K is. A kernel that moves more bytes is slower for it, so GB/s
// from these bytes can only be too low.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "base/saturating.h"
#include "benchmarks/workloads/workload_layout.h"
#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// Bytes of one tensor.
inline std::int64_t tensor_bytes(const Workload& w, const harness::TensorCase& t) {
  return saturating_product({w.batch, w.tokens, t.heads, t.head_dim, element_bytes(w)});
}

/// The bytes of Q and K that one pass reads. It writes the same number.
inline std::int64_t data_bytes_one_way(const Workload& w) {
  std::int64_t bytes = 0;
  for (harness::TensorCase t : w.tensors) {
    if (is_in_place(w)) t.head_dim = w.rotary_dim;
    bytes = saturating_sum({bytes, tensor_bytes(w, t)});
  }
  return bytes;
}

/// Bytes that an update or copy ceiling moves: the data alone.
inline std::int64_t ceiling_traffic_bytes(const Workload& w) {
  return saturating_product({2, data_bytes_one_way(w)});
}

/// Bytes that a ceiling touches: one buffer in place, two out of place.
inline std::int64_t ceiling_working_set_bytes(const Workload& w) {
  return saturating_product({is_in_place(w) ? 1 : 2, data_bytes_one_way(w)});
}

/// Bytes of the positions of so many tokens as the kernel gets them.
inline std::int64_t position_bytes(const Workload& w, std::int64_t tokens) {
  return saturating_product({w.axes, tokens, data_type(w.position_dtype).bytes});
}

/// Bytes of the weights of a norm, and of the slots of a call.
inline std::int64_t weight_and_slot_bytes(const Workload& w) {
  const std::int64_t slot_bytes = harness::has_append(w) ? data_type(w.slot_dtype).bytes : 0;
  std::int64_t bytes = saturating_product({w.batch, w.tokens, slot_bytes});
  for (const harness::TensorCase& t : w.tensors)
    if (t.norm) bytes = saturating_sum({bytes, saturating_product({t.head_dim, element_bytes(w)})});
  return bytes;
}

/// The pages of a cache: twice those that the call writes to, at most.
inline std::int64_t pages_held(const Workload& w) {
  const std::int64_t of_row = saturating_sum({w.tokens, w.page_size / 2, w.page_size - 1});
  return saturating_product({2, w.batch, of_row / w.page_size});
}
/// Bytes of a tensor's cache; 0: it has none.
inline std::int64_t cache_bytes(const Workload& w, const harness::TensorCase& t) {
  if (!t.append) return 0;
  return saturating_product({pages_held(w), w.page_size, t.heads, t.head_dim, element_bytes(w)});
}

/// Bytes that a kernel must move in one call.
inline std::int64_t traffic_bytes(const Workload& w, bool reads_table) {
  const std::int64_t tokens = saturating_product({w.batch, w.tokens});
  const std::int64_t table =
      reads_table ? saturating_product({tokens, w.rotary_dim, table_element_bytes(w)}) : 0;
  return saturating_sum(
      {ceiling_traffic_bytes(w), table, position_bytes(w, tokens), weight_and_slot_bytes(w)});
}

/// Distinct bytes that calls touch again and again; they must fit a cache to stay there. Of a table
/// these are the rows of one call, as each call moves on. Rows that batch rows share (consecutive
/// positions) count once, scattered rows as all different.
inline std::int64_t working_set_bytes(const Workload& w, bool reads_table) {
  const std::int64_t tokens = saturating_product({w.batch, w.tokens});
  const std::int64_t table_rows =
      w.cold || w.scattered ? std::min(tokens, max_position_of(w) + 1) : w.tokens;
  const std::int64_t table =
      reads_table ? saturating_product({table_rows, w.rotary_dim, table_element_bytes(w)}) : 0;
  return saturating_sum(
      {ceiling_working_set_bytes(w), table, position_bytes(w, tokens), weight_and_slot_bytes(w)});
}

/// Bytes of the whole table, cos and sin.
inline std::int64_t table_bytes(const Workload& w) {
  return saturating_product(
      {saturating_sum({max_position_of(w), 1}), w.rotary_dim, table_element_bytes(w)});
}

/// Number of positions that the harness keeps: those of one call, or for a cold workload all.
inline std::int64_t positions_held(const Workload& w) {
  const std::int64_t tokens = saturating_product({w.axes, w.batch, w.tokens});
  return w.cold ? saturating_sum({cold_position_count, tokens}) : tokens;
}

/// Bytes of one tensor with the gaps of its layout.
inline std::int64_t room_bytes(const Workload& w, const harness::TensorCase& t) {
  const std::int64_t gap = w.layout == WorkloadLayout::padded ? padded_gap : 0;
  const std::int64_t head = saturating_sum({t.head_dim, gap});
  const std::int64_t token = saturating_sum({saturating_product({t.heads, head}), gap});
  const std::int64_t row = saturating_sum({saturating_product({w.tokens, token}), gap});
  return saturating_product({w.batch, row, element_bytes(w)});
}

/// Of the input as it was made, what is kept for each tensor at most.
inline constexpr std::int64_t most_kept_bytes = std::int64_t{1} << 20;

/// Bytes that the harness allocates: the data once (the buffer) or twice (input and output),
/// caches, what is kept of the input as it was made, the whole table, and the positions, as int32
/// and as the kernel reads them.
inline std::int64_t allocated_bytes(const Workload& w) {
  std::int64_t tensors = 0, caches = 0;
  for (const harness::TensorCase& t : w.tensors) {
    tensors = saturating_sum({tensors, room_bytes(w, t)});
    caches = saturating_sum({caches, cache_bytes(w, t)});
  }
  const std::int64_t data =
      saturating_sum({saturating_product({is_in_place(w) ? 1 : 2, tensors}), caches,
                      std::min(tensors, std::ssize(w.tensors) * most_kept_bytes)});
  const std::int64_t held = saturating_product({positions_held(w), 4});
  const std::int64_t read = position_bytes(w, saturating_product({w.batch, w.tokens}));
  return saturating_sum({data, table_bytes(w), held, read});
}

}  // namespace ropewalk::bench
