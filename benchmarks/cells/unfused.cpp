#include "benchmarks/cells/unfused.h"

#include <cmath>

#include "kernels/api/cpu_features.h"
#include "kernels/api/kernel.h"

namespace ropewalk::bench {
namespace {

// Several sums, as a compiler keeps the order of additions.
template <class Data>
[[gnu::always_inline]] inline void normalize_as(const NormPass& pass) {
  using Wide = TableOf<Data>;
  constexpr std::int64_t lanes = 16;
  const std::int64_t count = pass.head_dim;
  const auto head_bytes = count * static_cast<std::int64_t>(sizeof(Data));
  const auto* const weight = static_cast<const Data*>(pass.weight);
  const std::int64_t end = pass.rows.rows * pass.rows.stride;
  for (std::int64_t row = 0; row < end; row += pass.rows.stride)
    for (std::int64_t at = row; at < row + pass.rows.row_bytes; at += head_bytes) {
      const auto* const in =
          reinterpret_cast<const Data*>(static_cast<const char*>(pass.rows.in) + at);
      auto* __restrict const out = reinterpret_cast<Data*>(static_cast<char*>(pass.rows.out) + at);
      Wide sums[lanes] = {}, sum = 0;
      std::int64_t d = 0;
      for (; d + lanes <= count; d += lanes)
        for (std::int64_t j = 0; j < lanes; ++j) sums[j] += Wide{in[d + j]} * Wide{in[d + j]};
      for (; d < count; ++d) sum += Wide{in[d]} * Wide{in[d]};
      for (const Wide each : sums) sum += each;
      const Wide mean = sum / static_cast<Wide>(count);
      const Wide factor = 1 / std::sqrt(mean + static_cast<Wide>(pass.epsilon));
      for (d = 0; d < count; ++d) out[d] = Data(Wide{in[d]} * factor * Wide{weight[d]});
    }
}

#define ROPEWALK_NORM(name, ...)                              \
  __VA_ARGS__ void name(const NormPass& pass) {               \
    if (pass.dtype == Dtype::f64) normalize_as<double>(pass); \
    if (pass.dtype == Dtype::f32) normalize_as<float>(pass);  \
    if (pass.dtype == Dtype::f16) normalize_as<F16>(pass);    \
    if (pass.dtype == Dtype::bf16) normalize_as<Bf16>(pass);  \
  }

ROPEWALK_NORM(normalize_any)
#if defined(__x86_64__)
ROPEWALK_NORM(normalize_avx2, [[gnu::target("avx2")]])
ROPEWALK_NORM(normalize_avx512, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]])
#endif

auto* widest() {
#if defined(__x86_64__)
  if (missing_cpu_feature("avx512f,avx512bw,avx512dq,avx512vl").empty()) return normalize_avx512;
  if (missing_cpu_feature("avx2").empty()) return normalize_avx2;
#endif
  return normalize_any;
}

}  // namespace

void normalize(const NormPass& pass) {
  static auto* const chosen = widest();
  chosen(pass);
}

}  // namespace ropewalk::bench
