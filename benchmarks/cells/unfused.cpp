#include "benchmarks/cells/workload_data.h"

#include <cmath>
#include <cstring>

#include "kernels/api/cpu_features.h"
#include "kernels/api/kernel.h"

namespace ropewalk::bench {
namespace {

#define INLINE [[gnu::always_inline]] inline

// A vector of elements. Functions neither take nor return vectors, whose ABI depends on the target.
template <class Data, std::size_t bytes>
struct HeadPart {
  using Wide = TableOf<Data>;
  static constexpr std::int64_t count = bytes / sizeof(Wide);
  typedef Wide Vector __attribute__((vector_size(bytes)));
  Vector v;
  INLINE void load(const Data* from) {
    for (std::int64_t j = 0; j < count; ++j) v[j] = from[j];
  }
  INLINE void store(Data* to) const {
    for (std::int64_t j = 0; j < count; ++j) to[j] = Data(v[j]);
  }
  INLINE void add_squares(Vector& sums) const { sums += v * v; }
  INLINE void multiply(Wide factor, const HeadPart& weight) { v = v * factor * weight.v; }
};

// Elements of even and of odd index. A NaN has no bits below those of bf16, so none of them is
// carried into infinity.
template <std::size_t bytes>
struct HeadPart<Bf16, bytes> {
  static constexpr std::int64_t count = bytes / sizeof(Bf16);
  typedef float Vector __attribute__((vector_size(bytes)));
  typedef std::uint32_t Bits __attribute__((vector_size(bytes)));
  Vector even, odd;
  INLINE void load(const Bf16* from) {
    Bits both;
    std::memcpy(&both, from, bytes);
    even = Vector(both << 16), odd = Vector(both & 0xffff0000U);
  }
  INLINE void store(Bf16* to) const {
    const Bits low = Bits(even) + 0x7fffU + (Bits(even) >> 16 & 1U),
               high = Bits(odd) + 0x7fffU + (Bits(odd) >> 16 & 1U);
    const Bits both = low >> 16 | (high & 0xffff0000U);
    std::memcpy(static_cast<void*>(to), &both, bytes);
  }
  INLINE void add_squares(Vector& sums) const { sums += even * even + odd * odd; }
  INLINE void multiply(float factor, const HeadPart& weight) {
    even = even * factor * weight.even, odd = odd * factor * weight.odd;
  }
};

template <class Data, std::size_t bytes>
INLINE void normalize_as(const NormPass& pass) {
  using Wide = TableOf<Data>;
  using Each = HeadPart<Data, bytes>;
  const std::int64_t count = pass.head_dim;
  const auto head_bytes = count * static_cast<std::int64_t>(sizeof(Data));
  const auto* const weight = static_cast<const Data*>(pass.weight);
  const std::int64_t end = pass.rows.rows * pass.rows.stride;
  for (std::int64_t row = 0; row < end; row += pass.rows.stride)
    for (std::int64_t at = row; at < row + pass.rows.row_bytes; at += head_bytes) {
      const auto* const in =
          reinterpret_cast<const Data*>(static_cast<const char*>(pass.rows.in) + at);
      auto* const out = reinterpret_cast<Data*>(static_cast<char*>(pass.rows.out) + at);
      typename Each::Vector sums = {};  // several, as a compiler keeps the order of additions
      Each piece{}, weights{};
      Wide sum = 0;
      std::int64_t d = 0;
      for (; d + Each::count <= count; d += Each::count) {
        piece.load(in + d);
        piece.add_squares(sums);
      }
      for (; d < count; ++d) sum += Wide{in[d]} * Wide{in[d]};
      for (std::size_t j = 0; j < bytes / sizeof(Wide); ++j) sum += sums[j];
      const Wide mean = sum / static_cast<Wide>(count);
      const Wide factor = 1 / std::sqrt(mean + static_cast<Wide>(pass.epsilon));
      for (d = 0; d + Each::count <= count; d += Each::count) {
        piece.load(in + d);
        weights.load(weight + d);
        piece.multiply(factor, weights);
        piece.store(out + d);
      }
      for (; d < count; ++d) out[d] = Data(Wide{in[d]} * factor * Wide{weight[d]});
    }
}

#define ROPEWALK_NORM(name, bytes, ...)                              \
  __VA_ARGS__ void name(const NormPass& pass) {                      \
    if (pass.dtype == Dtype::f64) normalize_as<double, bytes>(pass); \
    if (pass.dtype == Dtype::f32) normalize_as<float, bytes>(pass);  \
    if (pass.dtype == Dtype::f16) normalize_as<F16, bytes>(pass);    \
    if (pass.dtype == Dtype::bf16) normalize_as<Bf16, bytes>(pass);  \
  }

ROPEWALK_NORM(normalize_any, 16)
#if defined(__x86_64__)
ROPEWALK_NORM(normalize_avx2, 32, [[gnu::target("avx2")]])
ROPEWALK_NORM(normalize_avx512, 64, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]])
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
