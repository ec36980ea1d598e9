#include <bit>
#include <cmath>
#include <cstdint>

#include "benchmarks/cells/workload_data.h"
#include "kernels/api/cpu_features.h"
#include "kernels/api/kernel.h"

namespace ropewalk::bench {
namespace {

template <class Data>
struct One {
  using Wide = TableOf<Data>;
  Data x;
  Wide squares() const { return Wide{x} * Wide{x}; }
  void set(One in, Wide factor, One weight) { x = Data(Wide{in.x} * factor * Wide{weight.x}); }
};

// Two of bf16, since the code for single ones is slow. A NaN has no bits below those of bf16, so
// none of them is rounded to infinity.
struct TwoBf16 {
  using Wide = float;
  std::uint32_t bits;
  float low() const { return std::bit_cast<float>(bits << 16); }
  float high() const { return std::bit_cast<float>(bits & 0xffff0000U); }
  float squares() const { return low() * low() + high() * high(); }
  void set(TwoBf16 in, float factor, TwoBf16 weight) {
    const auto rounded = [](float value) {
      const auto wide = std::bit_cast<std::uint32_t>(value);
      return wide + 0x7fffU + (wide >> 16 & 1U);
    };
    bits = rounded(in.low() * factor * weight.low()) >> 16 |
           (rounded(in.high() * factor * weight.high()) & 0xffff0000U);
  }
} __attribute__((packed, may_alias));

// The pragmas (-fopenmp-simd) permit several partial sums.
template <class Each>
[[gnu::always_inline]] inline void normalize_as(const NormPass& pass, std::int64_t count) {
  using Wide = typename Each::Wide;
  const auto* const weight = static_cast<const Each*>(pass.weight);
  const std::int64_t end = pass.rows.rows * pass.rows.stride;
  const auto head_bytes = count * static_cast<std::int64_t>(sizeof(Each));
  for (std::int64_t row = 0; row < end; row += pass.rows.stride)
    for (std::int64_t at = row; at < row + pass.rows.row_bytes; at += head_bytes) {
      const auto* const in =
          reinterpret_cast<const Each*>(static_cast<const char*>(pass.rows.in) + at);
      auto* const out = reinterpret_cast<Each*>(static_cast<char*>(pass.rows.out) + at);
      Wide sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < count; ++i) sum += in[i].squares();
      const Wide mean = sum / static_cast<Wide>(pass.head_dim);
      const Wide factor = 1 / std::sqrt(mean + static_cast<Wide>(pass.epsilon));
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) out[i].set(in[i], factor, weight[i]);
    }
}

[[gnu::always_inline]] inline void normalize_any(const NormPass& pass) {
  const std::int64_t count = pass.head_dim;
  if (pass.dtype == Dtype::f64) return normalize_as<One<double>>(pass, count);
  if (pass.dtype == Dtype::f32) return normalize_as<One<float>>(pass, count);
  if (pass.dtype == Dtype::f16) return normalize_as<One<F16>>(pass, count);
  if (count % 2 != 0) return normalize_as<One<Bf16>>(pass, count);
  normalize_as<TwoBf16>(pass, count / 2);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void normalize_avx2(const NormPass& pass) {
  normalize_any(pass);
}
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void normalize_avx512(const NormPass& pass) {
  normalize_any(pass);
}
#endif

}  // namespace

void normalize(const NormPass& pass) {
#if defined(__x86_64__)
  static const bool has_avx512 = missing_cpu_feature("avx512f,avx512bw,avx512dq,avx512vl").empty();
  static const bool has_avx2 = missing_cpu_feature("avx2").empty();
  if (has_avx512) return normalize_avx512(pass);
  if (has_avx2) return normalize_avx2(pass);
#endif
  normalize_any(pass);
}

}  // namespace ropewalk::bench
