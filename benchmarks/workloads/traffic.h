// Traffic: the bytes a kernel must move in one call, and how much memory a call and a workload
// touch.
//
// In place, elements outside the rotated window stay where they are: only the window is read and
// written. Out of place whole rows are read and written. A table kernel reads the cos and sin row
// of each token once (not once a head, not once a tensor); a computing kernel reads no table.
// Positions are int32, one a token. Nothing else is owed: what a kernel moves beyond this is its
// own affair, so GB/s from these bytes can only understate it.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "benchmarks/workloads/workloads.h"

namespace ropewalk::bench {

/// Product and sum of sizes >= 0 that stop at the largest int64_t instead of overflowing.
inline std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product))
      return std::numeric_limits<std::int64_t>::max();
  return product;
}
inline std::int64_t saturating_sum(std::initializer_list<std::int64_t> terms) {
  std::int64_t sum = 0;
  for (const std::int64_t term : terms)
    if (__builtin_add_overflow(sum, term, &sum)) return std::numeric_limits<std::int64_t>::max();
  return sum;
}

/// Bytes of a tensor.
inline std::int64_t tensor_bytes(const Workload& w, const WorkloadTensor& t) {
  return saturating_product({w.batch, w.tokens, t.heads, t.head_dim, element_bytes(w)});
}

/// Elements of Q and K that one pass reads, and as many that it writes, in bytes.
inline std::int64_t data_bytes_one_way(const Workload& w) {
  std::int64_t bytes = 0;
  for (WorkloadTensor t : w.tensors) {
    if (w.in_place) t.head_dim = w.rotary_dim;
    bytes = saturating_sum({bytes, tensor_bytes(w, t)});
  }
  return bytes;
}

/// What an update or copy ceiling moves: the data alone.
inline std::int64_t ceiling_traffic_bytes(const Workload& w) {
  return saturating_product({2, data_bytes_one_way(w)});
}

/// What it touches: in place one buffer, out of place two.
inline std::int64_t ceiling_working_set_bytes(const Workload& w) {
  return saturating_product({w.in_place ? 1 : 2, data_bytes_one_way(w)});
}

/// What a kernel must move in one call.
inline std::int64_t traffic_bytes(const Workload& w, bool reads_table) {
  const std::int64_t tokens = saturating_product({w.batch, w.tokens});
  const std::int64_t table =
      reads_table ? saturating_product({tokens, w.rotary_dim, element_bytes(w)}) : 0;
  const std::int64_t positions = saturating_product({tokens, 4});
  return saturating_sum({ceiling_traffic_bytes(w), table, positions});
}

/// Distinct bytes one call touches: what must fit a cache to stay in it. Table rows shared by batch
/// rows (consecutive positions) count once; scattered ones are taken as all different.
inline std::int64_t working_set_bytes(const Workload& w, bool reads_table) {
  const std::int64_t tokens = saturating_product({w.batch, w.tokens});
  const std::int64_t table_rows = w.scattered ? tokens : w.tokens;
  const std::int64_t table =
      reads_table ? saturating_product({table_rows, w.rotary_dim, element_bytes(w)}) : 0;
  return saturating_sum({ceiling_working_set_bytes(w), table, saturating_product({tokens, 4})});
}

/// Of the whole table, cos and sin.
inline std::int64_t table_bytes(const Workload& w) {
  return saturating_product(
      {saturating_sum({max_position_of(w), 1}), w.rotary_dim, element_bytes(w)});
}

/// Positions kept for the calls to come: those of one call, of a cold workload all there are.
inline std::int64_t positions_held(const Workload& w) {
  const std::int64_t tokens = saturating_product({w.batch, w.tokens});
  return w.cold ? saturating_sum({cold_position_count, tokens}) : tokens;
}

/// Memory the harness allocates: data twice (pristine and working copy, or in and out), the whole
/// table, positions.
inline std::int64_t allocated_bytes(const Workload& w) {
  const std::int64_t data = saturating_product(
      {2, saturating_sum({tensor_bytes(w, w.tensors[0]), tensor_bytes(w, w.tensors[1])})});
  return saturating_sum({data, table_bytes(w), saturating_product({positions_held(w), 4})});
}

}  // namespace ropewalk::bench
