#include "properties/exhaustive/block_compare.h"

#include <bit>

#include "kernels/api/kernel.h"

namespace ropewalk::properties {
namespace {

// The square of bounds::half_ulp.
[[gnu::always_inline]] inline double squared_half_ulp(const BlockRow& row, double v) {
  constexpr std::uint64_t exponent = 0x7ff0000000000000U;
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & exponent);
  const double half = row.stored_u * power;
  const double larger = half > row.stored_least ? half : row.stored_least;
  return larger * larger;
}

template <Pairing pairing, bool stored, bool fused>
[[gnu::always_inline]] inline bool look(const BlockRow& row) {
  const std::int64_t half = row.half;
  const float* const e1 = row.outputs;
  const float* const e2 = e1 + 2 * half;
  const float* const y = e2 + 2 * half;
  const float* const x = row.x;
  const auto [base_cos, base_sin, low_cos, low_sin] = row.rotations;
  const SquaredLimit block = row.block, vector = row.vector;
  const auto fma = [](double a, double b, double c) {
    return fused ? __builtin_fma(a, b, c) : a * b + c;
  };
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    const auto [a, b] = pair_index(pairing, i, half);
    const double c = fma(base_cos[i], low_cos[i], -(base_sin[i] * low_sin[i]));
    const double s = fma(base_sin[i], low_cos[i], base_cos[i] * low_sin[i]);
    const double p1 = e1[a] - c, p2 = e1[b] - s;
    const double q1 = e2[a] + s, q2 = e2[b] - c;
    const double x1 = x[a], x2 = x[b];
    const double t1 = fma(x1, c, -(x2 * s)), t2 = fma(x2, c, x1 * s);
    const double v1 = y[a] - t1, v2 = y[b] - t2;
    double of_block = block.computed, of_vector = vector.computed * fma(x1, x1, x2 * x2);
    if constexpr (stored) {
      of_block = fma(block.stored, squared_half_ulp(row, c) + squared_half_ulp(row, s), of_block);
      of_vector =
          fma(vector.stored, squared_half_ulp(row, t1) + squared_half_ulp(row, t2), of_vector);
    }
    const bool harmless = (fma(p1, p1, p2 * p2) <= of_block) & (fma(q1, q1, q2 * q2) <= of_block) &
                          (fma(v1, v1, v2 * v2) <= of_vector);
    bad |= harmless ? 0 : 1;
  }
  return bad != 0;
}

template <Pairing pairing, bool stored>
bool look_anywhere(const BlockRow& row) {
  return look<pairing, stored, false>(row);
}

#if defined(__x86_64__)
template <Pairing pairing, bool stored>
[[gnu::target("avx2,fma")]] bool look_avx2(const BlockRow& row) {
  return look<pairing, stored, true>(row);
}
template <Pairing pairing, bool stored>
[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]] bool look_avx512(const BlockRow& row) {
  return look<pairing, stored, true>(row);
}
#endif

template <Pairing pairing, bool stored>
Suspicious version(bool fastest) {
#if defined(__x86_64__)
  if (fastest && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    return look_avx512<pairing, stored>;
  if (fastest && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return look_avx2<pairing, stored>;
#endif
  return look_anywhere<pairing, stored>;
}

}  // namespace

Suspicious suspicious_rows(Pairing pairing, bool stored, bool fastest) {
  if (pairing == Pairing::interleaved)
    return (stored ? version<Pairing::interleaved, true>
                   : version<Pairing::interleaved, false>)(fastest);
  return (stored ? version<Pairing::half_split, true>
                 : version<Pairing::half_split, false>)(fastest);
}

}  // namespace ropewalk::properties
