#include "properties/exhaustive/block_compare.h"

#include "kernels/api/kernel.h"

namespace ropewalk::properties {
namespace {

template <Pairing pairing>
[[gnu::always_inline]] inline bool look(const BlockRow& row) {
  const std::int64_t half = row.half;
  const float* const e1 = row.outputs;
  const float* const e2 = e1 + 2 * half;
  const float* const y = e2 + 2 * half;
  const float* const x = row.x;
  const auto [base_cos, base_sin, low_cos, low_sin] = row.rotations;
  const double block_limit = row.block_limit, vector_limit = row.vector_limit;
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [a, b] = pair_index(pairing, i, half);
    const double c = base_cos[i] * low_cos[i] - base_sin[i] * low_sin[i];
    const double s = base_sin[i] * low_cos[i] + base_cos[i] * low_sin[i];
    const double p1 = e1[a] - c, p2 = e1[b] - s;
    const double q1 = e2[a] + s, q2 = e2[b] - c;
    const double x1 = x[a], x2 = x[b];
    const double v1 = y[a] - (x1 * c - x2 * s), v2 = y[b] - (x2 * c + x1 * s);
    const bool harmless = (p1 * p1 + p2 * p2 <= block_limit) & (q1 * q1 + q2 * q2 <= block_limit) &
                          (v1 * v1 + v2 * v2 <= vector_limit * (x1 * x1 + x2 * x2));
    bad |= harmless ? 0 : 1;
  }
  return bad != 0;
}

template <Pairing pairing>
bool look_anywhere(const BlockRow& row) {
  return look<pairing>(row);
}

#if defined(__x86_64__)
template <Pairing pairing>
[[gnu::target("avx2")]] bool look_avx2(const BlockRow& row) {
  return look<pairing>(row);
}
template <Pairing pairing>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]] bool look_avx512(const BlockRow& row) {
  return look<pairing>(row);
}
#endif

template <Pairing pairing>
Suspicious fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    return look_avx512<pairing>;
  if (__builtin_cpu_supports("avx2")) return look_avx2<pairing>;
#endif
  return look_anywhere<pairing>;
}

}  // namespace

Suspicious suspicious_rows(Pairing pairing) {
  return pairing == Pairing::interleaved ? fastest<Pairing::interleaved>()
                                         : fastest<Pairing::half_split>();
}

Suspicious suspicious_rows_anywhere(Pairing pairing) {
  return pairing == Pairing::interleaved ? look_anywhere<Pairing::interleaved>
                                         : look_anywhere<Pairing::half_split>;
}

}  // namespace ropewalk::properties
